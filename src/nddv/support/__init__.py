"""What every room uses: files, provenance, schemas, wording of messages, processes as jobs."""
