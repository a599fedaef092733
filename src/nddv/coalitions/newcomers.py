"""Fits of a small coalition with the first point of a new class, for many such points at once.

No expansion of the coalition's fit tells what a new class brings: it has no logit yet. But small
coalitions, the only ones that lack classes, have few coordinates: their span, and one direction
towards the new point. So Newton's method on all the fits at once is quick. The members are shared
by the fits of a batch, only the new point differs.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

from nddv.coalitions.design import Design, Span
from nddv.coalitions.newton import LAST_CHANGE, SAFE_CHANGE
from nddv.coalitions.regressions import spread

LARGEST = 110
"""Most parameters of a fit; the engine makes larger ones."""

NUMBERS_TOGETHER = 2**22
"""Entries of the Hessians that are in memory at once."""

STEPS = 100


def fits_here(design: Design, members: Tensor) -> bool:
    """Whether a coalition of members (n,) is small enough."""
    classes = len(torch.unique(design.y[members])) + 1
    return classes * (min(int(members.sum()), design.X.shape[1] - 1) + 2) <= LARGEST


def newcomer_logits(design: Design, members: Tensor, points: Tensor) -> tuple[Tensor, Tensor]:
    """Validation logits (b, K, m) of fits to members (n,) and each of points (b,), one new class.

    Returns
    -------
    Logits, and whether each fit was reached (b,). Classes that are still absent have −inf; for two
    classes there is one logit.
    """
    span = Span.of(design, members)
    present = torch.cat([torch.unique(design.y[members]), design.y[points[:1]]]).sort().values
    size = len(present) * (span.X.shape[1] + 1)
    together = max(1, NUMBERS_TOGETHER // size**2)
    parts = [_fit(design, span, members, some, present) for some in points.split(together)]
    logits, reached = (torch.cat(part) for part in zip(*parts, strict=True))
    if design.n_classes == 2:
        return logits[:, 1:] - logits[:, :1], reached
    every = logits.new_full((len(logits), design.n_classes, logits.shape[2]), -torch.inf)
    every[:, present] = logits
    return every, reached


def _fit(
    design: Design, span: Span, members: Tensor, points: Tensor, present: Tensor
) -> tuple[Tensor, Tensor]:
    """Validation logits (b, K, m) of the classes that are present, and whether reached (b,)."""
    C, K = design.C, len(present)
    penalty = 2.0 if K == 2 else 1.0  # two opposite logits ±z/2 for one logit z
    shared = F.pad(span.X[members], (1, 0))  # no member is outside: (s, Q)
    own = torch.cat([span.distance[points, None], span.X[points]], dim=1)  # (b, Q)
    targets = (design.y[members] == present[:, None]).to(own)
    own_targets = (design.y[points, None] == present).to(own)
    products = (shared[:, :, None] * shared[:, None]).flatten(1)  # (s, Q²)
    b, Q = own.shape
    theta = own.new_zeros(b, K, Q)
    counts = targets.sum(dim=1) + own_targets[0]
    theta[..., -1] = counts.log() - counts.log().mean()
    reached = torch.zeros(b, dtype=torch.bool, device=own.device)
    for _ in range(STEPS):
        P = torch.softmax(theta @ shared.T, dim=1)  # (b, K, s)
        p = torch.softmax((theta * own[:, None]).sum(dim=2), dim=1)  # (b, K)
        slope = C * ((P - targets) @ shared + (p - own_targets)[:, :, None] * own[:, None])
        slope[..., :-1] += penalty * theta[..., :-1]
        diagonal = torch.eye(K).to(own)
        weights = P[:, :, None] * (diagonal[:, :, None] - P[:, None])  # (b, K, K, s)
        curvature = p[:, :, None] * (diagonal - p[:, None])  # (b, K, K)
        outer = own[:, :, None] * own[:, None]  # (b, Q, Q)
        blocks = (weights @ products).view(b, K, K, Q, Q)
        blocks = C * (blocks + curvature[..., None, None] * outer[:, None, None])
        hessian = blocks.transpose(2, 3).reshape(b, K * Q, K * Q)
        entries = hessian.diagonal(dim1=1, dim2=2).view(b, K, Q)
        entries[..., :-1] += penalty
        entries[..., -1] += torch.finfo(own.dtype).eps ** 0.5 * (entries[..., -1].amax() + 1)
        hessian.view(b, K, Q, K, Q)[:, :, -1, :, -1] += C * counts.sum() / K
        factor, _ = torch.linalg.cholesky_ex(hessian)
        step = torch.cholesky_solve(slope.reshape(b, K * Q, 1), factor).view_as(theta)
        own_change = (step * own[:, None]).sum(dim=2, keepdim=True)
        change = torch.maximum(spread(step @ shared.T), spread(own_change))
        length = torch.where(change <= SAFE_CHANGE, 1.0, torch.log1p(change) / change)
        theta = theta - torch.where(reached, 0.0, length)[:, None, None] * step
        reached |= change <= LAST_CHANGE
        if reached.all():
            break
    logits = theta[..., 1:] @ span.V.T
    if span.beyond is not None:
        logits += theta[..., :1] * span.beyond[:, points].T[:, None]
    return logits, reached & logits.isfinite().all(dim=(1, 2))
