"""A language model that sees: InternVL's tower and projector before the chat model, and the readout that helps the tower to learn."""

import torch
import torch.nn.functional as F
from labels import CELLS, FIELDS
from labels import loss_of as readout_loss
from scenes import COLOURS, KINDS
from torch import Tensor, nn
from tower import Projector, TowerConfig, VisionTower, normalized

from model import ChatModel


class Readout(nn.Module):
    """What is in each cell of a picture, read from the tower's states; not part of the checkpoint."""

    def __init__(self, c: TowerConfig):
        super().__init__()
        assert c.grid == CELLS, f"a patch is a cell of the painter's labels: {c.grid} patches a side, {CELLS} cells"
        self.norm = nn.LayerNorm(c.hidden_size)
        self.cells = nn.Linear(c.hidden_size, len(KINDS) * (1 + len(COLOURS)))
        self.fields = nn.ModuleDict({name: nn.Linear(c.hidden_size, len(values)) for name, values in FIELDS.items()})

    def forward(self, states: Tensor) -> dict[str, Tensor]:
        """States of the patches (n, patches, hidden) → logits as those of reading.Reader."""
        states = self.norm(states)
        cells = self.cells(states).view(len(states), CELLS, CELLS, len(KINDS), -1).permute(0, 3, 4, 1, 2)
        where, colours = cells[:, :, 0], cells[:, :, 1:]
        share = where.flatten(2).softmax(2)  # (n, kinds, cells)
        colours = (colours.flatten(3) * share.unsqueeze(2)).sum(3)
        mean = states.mean(1)
        return {"where": where, "colours": colours} | {name: head(mean) for name, head in self.fields.items()}


class Sight(nn.Module):
    """The parts that are trained beside the chat model."""

    def __init__(self, c: TowerConfig, hidden: int):
        super().__init__()
        self.vision_tower = VisionTower(c)
        self.multi_modal_projector = Projector(c, hidden)
        self.readout = Readout(c)

    def forward(self, pictures: Tensor) -> tuple[Tensor, dict[str, Tensor]]:
        """Pictures in 0 … 1 (n, 3, side, side) → rows for the chat model (n, tokens, hidden), and the readout."""
        states = self.vision_tower(normalized(pictures))
        return self.multi_modal_projector(states), self.readout(states)


def roughened(pictures: Tensor) -> Tensor:
    """Pictures in another brightness, softness and grain, so that those of a diffusion model are read as well."""
    n, side = len(pictures), pictures.shape[-1]
    if torch.rand(()) < 0.5:
        small = int(torch.randint(48, side, ()))
        pictures = F.interpolate(F.interpolate(pictures, size=small, mode="area"), size=side, mode="bilinear")
    device = pictures.device
    gain, lift = 1 + 0.08 * torch.randn(n, 1, 1, 1, device=device), 0.03 * torch.randn(n, 3, 1, 1, device=device)
    return (pictures * gain + lift + 0.03 * float(torch.rand(())) * torch.randn_like(pictures)).clamp(0, 1)


def picture_losses(
    chat: ChatModel, sight: Sight, image: int, batch: tuple[Tensor, dict[str, Tensor], list]
) -> tuple[Tensor, Tensor]:
    """Mean cross entropy of the replies about pictures, and the loss of the readout. `image`: id of the pictures' token."""
    pictures, labels, blocks = batch
    device = next(chat.parameters()).device
    laid = torch.cat([ids.reshape(-1) for ids, _, _ in blocks])
    order = torch.cat([shown for _, _, shown in blocks])
    places = (laid == image).nonzero()[:, 0].to(device)
    wanted = torch.cat([flags.reshape(-1) for _, flags, _ in blocks]).nonzero()[:, 0]
    following = torch.cat([torch.roll(ids, -1, dims=1).reshape(-1) for ids, _, _ in blocks])[wanted].to(device)
    rows, read = sight(roughened(pictures.to(device).float() / 255))
    shown = rows[order.to(device)].flatten(0, 1).float()
    logits = chat([ids.to(device) for ids, _, _ in blocks], wanted.to(device), (places, shown))
    labels = {name: values.to(device) for name, values in labels.items()}
    return F.cross_entropy(logits, following), readout_loss(read, labels)
