"""Checks before anything runs: every mistake is one line that names its key."""

from nddv.workflow.configuration import check_configuration
from nddv.reporting.claims import read_claims

CLAIMS = os.path.join(workflow.basedir, "config", "claims.yaml")
SCHEMAS = os.path.join(workflow.basedir, "workflow", "schemas")

try:
    check_configuration(config, SCHEMAS)
    if "claims" in config["parts"]:
        schema = os.path.join(SCHEMAS, "claims.schema.yaml")
        read_claims(CLAIMS, schema, config["datasets"])
except ValueError as error:
    raise WorkflowError(str(error)) from None
