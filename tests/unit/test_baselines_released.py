"""The released procedure: what it trains, what it does not, and what its score is."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import nn

from nddv.baselines.released import GENERIC, ROWS, released, score, score_of_output, train
from nddv.baselines.released_flow import DIFFUSION, Flow, Row, surrogate
from nddv.evaluation.thresholds import auroc
from nddv.methods.settings import settings_of
from nddv.methods.valuation import value
from nddv.problems import make_problem

SMALL = Row(batch_size=8, every=3)


class InOrder:
    """A generator of random numbers that leaves points in their order."""

    def __init__(self, seed=100):
        self.rng = np.random.default_rng(seed)
        self.integers, self.normal = self.rng.integers, self.rng.normal

    def permutation(self, n):
        return np.arange(n)


def data(n=48, classes=2, width=3):
    rng = np.random.default_rng(100)
    points = torch.as_tensor(rng.normal(size=(n, width)), dtype=torch.float32)
    return points, torch.as_tensor(np.arange(n) % classes)


def trained(points, labels, row=SMALL, epochs=1, meta=None):
    """A flow after some epochs, points in their order, and the number of its steps."""
    rng = InOrder()
    flow = Flow(points.shape[1], int(labels.max()) + 1, row, rng)
    return flow, train(flow, points, labels, points[:10] if meta is None else meta, epochs, rng)


def parameters(flow):
    return torch.cat([one.detach().flatten() for one in flow.learned()])


def statistics(flow):
    return torch.cat([control.norm.running_mean for control in flow.controls])


# ------------------------------------------------------------------ what trains


@pytest.mark.parametrize("head", ["softmax", "sigmoid"])
@pytest.mark.parametrize("classes", [2, 5])
def test_gradients_of_the_head_cancel(classes, head):
    points, labels = data(classes=classes)
    flow = Flow(3, classes, Row(batch_size=48, head=head), InOrder()).double()
    cost, _ = surrogate(flow, flow(points.double()), labels)
    cost.backward()
    largest = max(one.grad.abs().max() for one in flow.controls.parameters())
    assert largest > 1e-6
    assert all(one.grad.abs().max() < 1e-12 * largest for one in flow.head.parameters())


def test_the_head_stays_where_it_was_drawn():
    points, labels = data()
    before, (after, _) = Flow(3, 2, SMALL, InOrder()), trained(points, labels, epochs=12)
    for old, new in zip(before.head.parameters(), after.head.parameters(), strict=True):
        assert (new - old).abs().max() < 5e-3
    old, new = (flow.controls[0].layers[0].weight for flow in (before, after))
    assert (new - old).abs().max() > 0.05


def test_the_weight_map_has_no_gradient_and_stays():
    points, labels = data()
    before, (after, _) = Flow(3, 2, SMALL, InOrder()), trained(points, labels, epochs=3)
    for old, new in zip(before.weight_map.parameters(), after.weight_map.parameters(), strict=True):
        assert torch.equal(old, new)
    cost, weights = surrogate(after, after(points), labels)
    cost.backward()
    assert all(one.grad is None for one in after.weight_map.parameters())
    assert weights.std() > 0  # a function of the loss, though a random one


@pytest.mark.parametrize(
    ("n", "batch_size", "every", "epochs", "expected"),
    [
        (1000, 32, 4, 1, 3 + 8),
        (1000, 100, 4, 2, 3 + 2 * 2),
        (990, 100, 4, 2, 3 + 2 * 2),  # the last batch is kept
        (60, 8, 3, 3, 2 + 3 * 2),
        (60, 32, 5, 3, 3 * 2),  # no batch is looked ahead of: every one counts
    ],
)
def test_every_kth_batch_of_an_epoch_is_an_update(n, batch_size, every, epochs, expected):
    row = Row(batch_size=batch_size, every=every)
    assert trained(*data(n), row, epochs)[1] == expected


def test_only_the_first_batches_and_every_kth_change_parameters():
    points, labels = data()  # six batches, of which 0, 1 and 2, 5 are steps
    usual = parameters(trained(points, labels)[0])
    for batch, matters in enumerate([True, True, True, False, False, True]):
        other = labels.clone()
        other[8 * batch : 8 * batch + 4] = 1 - other[8 * batch : 8 * batch + 4]
        assert torch.equal(parameters(trained(points, other)[0]), usual) != matters, batch


def test_meta_data_change_running_statistics_only():
    points, labels = data()
    one, other = (trained(points, labels, epochs=3, meta=m)[0] for m in (points, points + 9))
    assert torch.equal(parameters(one), parameters(other))
    assert not torch.allclose(statistics(one), statistics(other))


def test_weight_decay_and_mean_field_act_before_the_first_look_ahead_only():
    points, labels = data()
    for change in ({"weight_decay": 9.0}, {"interaction": 9.0}):
        for every, matters in ((1, False), (2, True)):
            row = replace(SMALL, every=every)
            usual, other = (
                parameters(trained(points, labels, one, epochs=2)[0])
                for one in (row, replace(row, **change))
            )
            assert torch.equal(usual, other) != matters, change


def test_statistics_rest_from_the_end_of_an_epoch_to_its_first_look_ahead():
    points, labels = data()
    for every, rests in ((7, True), (6, False)):  # of six batches
        row = replace(SMALL, every=every)
        short, long = (
            trained(points, labels, row, epochs)[0].controls[0].norm.running_mean
            for epochs in (1, 3)
        )
        assert torch.equal(short, long) == rests


def test_a_pass_moves_statistics_as_three_evaluations_do():
    points, _ = data()
    flow, thrice = Flow(3, 2, SMALL, InOrder()), nn.BatchNorm1d(3)
    flow(points)
    for _ in range(3):
        thrice(points)
    for name in ("running_mean", "running_var"):
        torch.testing.assert_close(getattr(flow.controls[0].norm, name), getattr(thrice, name))


# ------------------------------------------------------------------ the flow and its surrogate


def test_noise_is_that_of_the_row_of_a_batch_at_every_step():
    points, _ = data(8)
    flow = Flow(3, 2, replace(SMALL, steps=4), InOrder())
    for control in flow.controls:
        nn.init.zeros_(control.layers[-1].weight)
        nn.init.zeros_(control.layers[-1].bias)
    moved = flow(points).states[-1] - points
    torch.testing.assert_close(moved, 4 * DIFFUSION * flow.noise)
    torch.testing.assert_close(flow(points + 1).states[-1] - points - 1, moved)
    few, again = (flow(points[:5]).states[-1] - points[:5] for _ in range(2))
    assert not torch.allclose(few, again)  # a batch of another size has noise of its own


def test_the_mean_field_pulls():
    points, _ = data(8)
    flow = Flow(3, 2, replace(SMALL, steps=1, interaction=0.1), InOrder())
    free, drawn = (flow(points, mean).states[-1] for mean in (None, torch.ones(3)))
    torch.testing.assert_close(drawn - free, 0.1 * (1 - points))


@pytest.mark.parametrize(("classes", "head"), [(2, "softmax"), (4, "softmax"), (4, "sigmoid")])
def test_the_gradient_of_the_surrogate_is_that_of_its_formula(classes, head):
    """Co-states and gradient by central differences, in double precision."""
    points, labels = data(6, classes)
    flow = Flow(3, classes, Row(batch_size=6, steps=3, head=head), InOrder()).double().eval()
    path = flow(points.double())
    states = [state.detach() for state in path.states]
    losses = flow.losses(flow.output(states[-1]), labels)
    weights = flow.weights(losses).detach()

    def central(function, x, h=1e-6):
        slopes = torch.zeros_like(x)
        for i in range(x.numel()):
            step = torch.zeros_like(x).flatten()
            step[i] = h
            step = step.reshape(x.shape)
            slopes.flatten()[i] = (function(x + step) - function(x - step)).item() / (2 * h)
        return slopes

    with torch.no_grad():
        costates = [
            central(lambda x: (weights * flow.losses(flow.output(x), labels)).sum(), states[-1])
        ]
        for i in (2, 1):
            y, control = costates[0], flow.controls[i]
            slope = central(lambda x, y=y, control=control: (y * control(x)).sum(), states[i])
            costates.insert(0, y - slope / 3 + y * path.noise**2 * 3)

    cost, _ = surrogate(flow, path, labels)
    cost.backward()
    for control, costate, state in zip(flow.controls, costates, states[:-1], strict=True):
        for layer in (control.layers[0], control.layers[4]):
            found = layer.bias.grad.clone()
            kept = layer.bias.detach().clone()

            def hamiltonian(bias, layer=layer, control=control, costate=costate, state=state):
                layer.bias.data = bias
                return (costate * control(state)).sum() / (6 * 6 * 5)  # mean, 1/b, 1/(S + 2)

            with torch.no_grad():
                expected = central(hamiltonian, kept)
            layer.bias.data = kept
            torch.testing.assert_close(found, expected, rtol=1e-5, atol=1e-10)


def test_two_classes_have_one_binary_loss_and_more_a_second_softmax():
    flow = Flow(3, 2, SMALL, InOrder())
    p = torch.tensor([[0.9, 0.2], [0.9, 0.2]])
    torch.testing.assert_close(
        flow.losses(p, torch.tensor([0, 1])), -torch.log(torch.tensor([0.9, 0.1]))
    )
    p = torch.tensor([[0.7, 0.2, 0.1]])
    torch.testing.assert_close(flow.losses(p, torch.tensor([1])), -torch.log(p.softmax(1)[:, 1]))


def test_weights_can_be_off():
    flow = Flow(3, 2, replace(SMALL, weighted=False), InOrder())
    assert torch.equal(flow.weights(torch.tensor([0.1, 5.0])), torch.ones(2))


# ------------------------------------------------------------------ the score


@pytest.mark.parametrize(("classes", "head"), [(2, "softmax"), (2, "sigmoid"), (5, "softmax")])
def test_the_score_is_minus_output_times_slope_of_the_mean_loss(classes, head):
    logits, labels = data(7, classes, width=classes)
    p = logits.double().softmax(1) if head == "softmax" else logits.double().sigmoid()
    p.requires_grad_()
    if classes == 2:
        loss = nn.functional.binary_cross_entropy(p, nn.functional.one_hot(labels).double())
    else:
        loss = nn.functional.cross_entropy(p, labels)
    (slope,) = torch.autograd.grad(loss, p)
    expected = -(p * slope).mean(1)
    torch.testing.assert_close(score_of_output(p.detach(), labels), expected.detach())


def test_the_score_has_the_closed_forms_of_the_description():
    logits, labels = data(7, 2, width=2)
    p = logits.double().softmax(1)
    own = p.gather(1, labels[:, None])[:, 0]
    torch.testing.assert_close(score_of_output(p, labels), (2 - 1 / own) / 28)
    p = logits.double().sigmoid()
    other = p.gather(1, 1 - labels[:, None])[:, 0]
    torch.testing.assert_close(score_of_output(p, labels), (1 - other / (1 - other)) / 28)
    logits, labels = data(7, 4, width=4)
    p = logits.double().softmax(1)
    own = p.gather(1, labels[:, None])[:, 0]
    torch.testing.assert_close(
        score_of_output(p, labels), (own - (p * p.softmax(1)).sum(1)) / (7 * 4)
    )


def test_a_saturated_output_says_right_or_wrong():
    p = torch.tensor([[1.0, 0.0], [1.0, 0.0]], dtype=torch.float64)
    right, wrong = score_of_output(p, torch.tensor([0, 1])).tolist()
    assert (right, wrong) == (0.0, -1e12 / 8)


def test_the_scores_of_the_short_batch_are_larger():
    points, labels = data(12)
    flow, _ = trained(points, labels)
    flow.noise = torch.zeros_like(flow.noise)
    flow._draw = lambda rows, width: torch.zeros(rows, width)
    found = score(flow, points, labels)
    whole = score_of_output(flow.output(flow(points).states[-1]).double(), labels).detach().numpy()
    np.testing.assert_allclose(found[:8], whole[:8] * 12 / 8, rtol=1e-4)
    np.testing.assert_allclose(found[8:], whole[8:] * 12 / 4, rtol=1e-4)


# ------------------------------------------------------------------ the method


def test_a_data_set_has_its_printed_settings():
    points, labels = data(40)
    given = {"X": points.numpy(), "y": labels.numpy(), "X_meta": points.numpy(), "epochs": 1}

    def found(dataset, **settings):
        return released(dataset=dataset, rng=np.random.default_rng(100), **given, **settings)

    assert found("bbc@mpnet").record["row"] == "bbc"
    assert found("digits").record["row"] == "generic"
    assert found("bbc@mpnet", row="generic").record["row"] == "generic"
    np.testing.assert_array_equal(found("digits", row="pol").values, found("pol").values)
    assert not np.array_equal(found("pol").values, found("2dplanes").values)
    known = {"auto", "generic", *ROWS}
    assert set(settings_of("nddv-released")["row"].kind.schema["enum"]) == known
    assert (GENERIC.steps, GENERIC.every, GENERIC.meta_hidden) == (2, 5, 10)
    assert (ROWS["cifar10"].head, ROWS["cifar10"].interaction) == ("sigmoid", 0.1)
    with pytest.raises(ValueError, match="row must be one of 'auto', 'generic', "):
        found("pol", row="fried")


def test_wrong_labels_have_low_values():
    problem, truth = make_problem("2dplanes", 400, "label10@released", 100)
    found = value("nddv-released", problem, 100, epochs=15)
    assert auroc(found.values, truth.mask) > 0.75
    assert found.values.sum() == pytest.approx(0, abs=1e-9)
    assert found.record["updates"] == 3 + 15 * 3
