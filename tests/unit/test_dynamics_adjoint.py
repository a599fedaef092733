"""The theorems about the adjoint, as tests in float64."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from nddv.dynamics.adjoint import (
    Batch,
    Perturbation,
    adjoint_representation,
    backward,
    batch_gradient,
)
from nddv.dynamics.choices import CONTROLS
from nddv.dynamics.costs import running, terminal
from nddv.dynamics.flow import Flow, Path, euler_step, rollout
from nddv.estimator.settings import Settings, resolved

B, D, C = 9, 5, 3
LOSS = {"classification": ("cross_entropy", C), "regression": ("squared_error", 1)}


class Setting:
    """A small flow with a realised path, everything in float64."""

    def __init__(self, control: str = "kan", task: str = "classification", **options):
        self.loss, outputs = LOSS[task]
        settings = Settings(
            width=4, steps=4, diffusion=0.3, running_cost=0.5, control=control,
            hidden=3, centers=4, interaction=0.8, **options,
        )  # fmt: skip
        self.flow = Flow.of(resolved(settings), D, outputs)
        self.generator = torch.Generator().manual_seed(3)
        self.flat = self.flow.init(self.generator, torch.float64)
        self.flat = self.flat + 0.3 * self.randn(len(self.flat))
        self.x = self.randn(B, D)
        self.y = (
            torch.randint(0, C, (B,), generator=self.generator)
            if task == "classification"
            else self.randn(B)
        )
        self.noise = self.randn(self.flow.steps, B, self.flow.width)
        self.weights = torch.rand(B, generator=self.generator, dtype=torch.float64) + 0.5
        self.mass = torch.rand(B, generator=self.generator, dtype=torch.float64)

    def randn(self, *shape: int) -> Tensor:
        return torch.randn(shape, generator=self.generator, dtype=torch.float64)

    @property
    def params(self):
        return self.flow.unpack(self.flat)

    def path(self) -> Path:
        x0, _ = self.flow.encoder.forward(self.params.encoder, self.x)
        return rollout(self.flow, self.params.controls, x0, self.noise, mass=self.mass)

    def tail_objective(self, s: int, x: Tensor, aggregates: list[Tensor]) -> Tensor:
        """J_{i,s}(x) of Eq. discrete_tail_objective, per point, the aggregate fixed."""
        total = torch.zeros(B, dtype=torch.float64)
        for step in range(s, self.flow.steps):
            control, _ = self.flow.controller.forward(self.params.controls[step], x)
            total = total + running([control], self.flow.running_cost, self.flow.dt)
            x = euler_step(self.flow, x, aggregates[step], control, self.noise[step])
        return total + terminal(self.params.head, x, self.y, self.loss).costs

    def costates(self, path: Path) -> list[Tensor]:
        end = terminal(self.params.head, path.states[-1], self.y, self.loss)
        return backward(self.flow, self.params.controls, path, -end.gradients).costates

    def objective(self, flat: Tensor, aggregates: list[Tensor] | None = None) -> Tensor:
        """L of Eq. meta_objective, the aggregate detached or given."""
        params = self.flow.unpack(flat)
        x0, _ = self.flow.encoder.forward(params.encoder, self.x)
        if aggregates is None:
            with torch.no_grad():
                aggregates = rollout(
                    self.flow, params.controls, x0, self.noise, mass=self.mass
                ).aggregates
        path = rollout(self.flow, params.controls, x0, self.noise, aggregates=aggregates)
        costs = terminal(params.head, path.states[-1], self.y, self.loss).costs
        costs = costs + running(path.outputs, self.flow.running_cost, self.flow.dt)
        return (self.weights * costs).mean()

    def gradient(self, pairing: str = "exact") -> Tensor:
        batch = Batch(self.x, self.y, self.noise)
        return batch_gradient(
            self.flow, self.flat, batch, self.weights, self.mass, self.loss, pairing
        ).gradient


@pytest.fixture(params=[(c, t) for c in CONTROLS for t in LOSS], ids="-".join)
def setting(request) -> Setting:
    return Setting(*request.param)


def test_adjoint_equals_autograd_of_the_tail_objective(setting: Setting) -> None:
    """Theorem discrete_adjoint_identity, every s: Y_s = −∇_x J_s to 1e-10."""
    path = setting.path()
    costates = setting.costates(path)
    for s in range(setting.flow.steps + 1):
        x = path.states[s].clone().requires_grad_()
        tail = setting.tail_objective(s, x, path.aggregates)
        (gradient,) = torch.autograd.grad(tail.sum(), x)
        assert (costates[s] + gradient).abs().max() < 1e-10


def test_adjoint_equals_central_differences(setting: Setting) -> None:
    """Eq. discrete_directional_identity to 1e-5."""
    path = setting.path()
    costates = setting.costates(path)
    h = 1e-5
    for s in range(setting.flow.steps + 1):
        direction = setting.randn(B, setting.flow.width)
        up = setting.tail_objective(s, path.states[s] + h * direction, path.aggregates)
        down = setting.tail_objective(s, path.states[s] - h * direction, path.aggregates)
        expected = -(costates[s] * direction).sum(1)
        assert ((up - down) / (2 * h) - expected).abs().max() < 1e-5


def test_exact_pairing_is_the_gradient_of_the_batch_objective(setting: Setting) -> None:
    flat = setting.flat.clone().requires_grad_()
    (expected,) = torch.autograd.grad(setting.objective(flat), flat)
    assert (setting.gradient() - expected).abs().max() < 1e-12


def test_literal_pairing_differs_from_the_gradient() -> None:
    """Algorithm 1 prints ∇_ψH at Y_s: no gradient of the objective, but the same without drift.

    The two differ in the controls only, by O(Δt): halving Δt about halves the difference.
    """

    def relative_difference(steps: int) -> float:
        s = Setting("mlp")
        settings = Settings(
            width=4, steps=steps, horizon=0.5, diffusion=0.0, control="mlp", hidden=3
        )
        s.flow = Flow.of(resolved(settings), D, C)
        s.flat = s.flow.init(torch.Generator().manual_seed(5), torch.float64)
        s.noise = torch.zeros(steps, B, 4, dtype=torch.float64)
        exact, literal = s.gradient("exact"), s.gradient("literal")
        outside = s.flow.sizes[0] + s.flow.sizes[1]  # the encoder comes first
        assert torch.equal(exact[:outside], literal[:outside])
        return float((exact - literal).norm() / exact.norm())

    coarse, fine, finer = (relative_difference(k) for k in (4, 8, 16))
    assert coarse > 0.01
    assert fine < 0.7 * coarse
    assert finer < 0.7 * fine


def test_unknown_pairing_is_refused() -> None:
    with pytest.raises(ValueError, match="unknown pairing 'other'"):
        Setting().gradient("other")


PERTURBATIONS = ("initial", "drift", "running", "terminal", "all")


@pytest.mark.parametrize("kind", PERTURBATIONS)
def test_adjoint_representation(kind: str) -> None:
    """Theorem general_adjoint_perturbation for each way that ε can enter, against differences."""
    s = Setting("kan")
    path = s.path()
    xi = s.randn(B, s.flow.width)
    matrix = s.randn(s.flow.width, s.flow.width)
    whole = {
        "initial": xi,
        "drift": lambda step, x: torch.tanh(x @ matrix) * (1 + step),
        "running": lambda step, x: (x**2).sum(1) * (1 + step),
        "terminal": lambda x: torch.sin(x).sum(1),
    }
    chosen = whole if kind == "all" else {kind: whole[kind]}
    perturbation = Perturbation(**chosen)

    def objective(eps: float) -> Tensor:
        x = path.states[0] + (eps * xi if "initial" in chosen else 0.0)
        total = torch.zeros(B, dtype=torch.float64)
        for step in range(s.flow.steps):
            control, _ = s.flow.controller.forward(s.params.controls[step], x)
            total = total + running([control], s.flow.running_cost, s.flow.dt)
            if perturbation.running is not None:
                total = total + eps * s.flow.dt * perturbation.running(step, x)
            push = eps * s.flow.dt * perturbation.drift(step, x) if perturbation.drift else 0.0
            x = euler_step(s.flow, x, path.aggregates[step], control, s.noise[step]) + push
        if perturbation.terminal is not None:
            total = total + eps * perturbation.terminal(x)
        return total + terminal(s.params.head, x, s.y, s.loss).costs

    h = 1e-5
    expected = (objective(h) - objective(-h)) / (2 * h)
    found = adjoint_representation(s.flow, path, s.costates(path), perturbation)
    assert torch.allclose(found, expected, atol=1e-7)
    assert expected.abs().max() > 1e-3  # the perturbation does something


def test_terminal_rescaling_gives_the_terminal_score() -> None:
    """The last sentence of the theorem: q_i(x) = x·∇Φ_i(x) gives Eq. utility."""
    s = Setting()
    path = s.path()

    def q(x: Tensor) -> Tensor:
        return (x * terminal(s.params.head, x, s.y, s.loss).gradients).sum(1)

    found = adjoint_representation(s.flow, path, s.costates(path), Perturbation(terminal=q))
    x, y = path.states[-1], s.costates(path)[-1]
    assert torch.allclose(found, -(x * y).sum(1))


def test_rollout_wants_one_kind_of_aggregate() -> None:
    s = Setting()
    x0 = s.randn(B, s.flow.width)
    with pytest.raises(ValueError, match="either the points' mass or a fixed aggregate"):
        rollout(s.flow, s.params.controls, x0, s.noise)


def test_aggregate_is_normalised_by_the_number_of_points() -> None:
    """μ_s = N⁻¹ Σ v_i X_{i,s} (Eq. weighted_mean_state): not by the sum of weights."""
    s = Setting()
    path = s.path()
    for x, mu in zip(path.states, path.aggregates, strict=False):
        assert torch.allclose(mu, (s.mass.unsqueeze(1) * x).sum(0) / B)
