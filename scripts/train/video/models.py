"""The parts of the WanPipeline: text encoder, transformer, autoencoder and schedule, all of diffusers' and transformers' own classes."""

import torch
from diffusers import AutoencoderKLWan, UniPCMultistepScheduler, WanTransformer3DModel
from diffusers.models.transformers.transformer_wan import WanAttnProcessor
from space import CHANNELS
from transformers import UMT5Config, UMT5EncoderModel

TEXT_WIDTH, TEXT_LENGTH = 128, 512
WIDTH, HEADS, LAYERS = 192, 4, 6
CERTAIN = -12.0
"""Log variance that the encoder gives: so low that latents are practically deterministic."""
SCHEDULE = {
    "prediction_type": "flow_prediction",
    "use_flow_sigmas": True,
    "num_train_timesteps": 1000,
    "flow_shift": 3.0,
    "solver_order": 2,
}


def make_text(vocabulary: int) -> UMT5EncoderModel:
    torch.manual_seed(2)
    return UMT5EncoderModel(
        UMT5Config(
            vocab_size=vocabulary,
            d_model=TEXT_WIDTH,
            d_kv=32,
            d_ff=192,
            num_layers=2,
            num_heads=4,
            dropout_rate=0.0,
            feed_forward_proj="gated-gelu",
        )
    )


def make_transformer() -> WanTransformer3DModel:
    torch.manual_seed(3)
    transformer = WanTransformer3DModel(
        patch_size=(1, 2, 2),
        num_attention_heads=HEADS,
        attention_head_dim=WIDTH // HEADS,
        in_channels=CHANNELS,
        out_channels=CHANNELS,
        text_dim=TEXT_WIDTH,
        freq_dim=128,
        ffn_dim=3 * WIDTH,
        num_layers=LAYERS,
        cross_attn_norm=True,
        rope_max_seq_len=256,
    )
    torch.nn.init.zeros_(transformer.proj_out.weight)
    return transformer


def make_vae() -> AutoencoderKLWan:
    torch.manual_seed(1)
    vae = AutoencoderKLWan(
        base_dim=8,
        decoder_base_dim=16,
        z_dim=CHANNELS,
        dim_mult=[1, 2, 3, 3],
        num_res_blocks=1,
        temperal_downsample=[False, True, True],
        latents_mean=[0.0] * CHANNELS,
        latents_std=[1.0] * CHANNELS,
    )
    with torch.no_grad():
        vae.quant_conv.weight.copy_(torch.eye(2 * CHANNELS).view(2 * CHANNELS, 2 * CHANNELS, 1, 1, 1))
        vae.quant_conv.weight[CHANNELS:] = 0
        vae.quant_conv.bias.copy_(torch.tensor([0.0] * CHANNELS + [CERTAIN] * CHANNELS))
    return vae


def make_schedule() -> UniPCMultistepScheduler:
    return UniPCMultistepScheduler(**SCHEDULE)


class Padded(WanAttnProcessor):
    """Attends to a text as if it were padded to the whole length, as the pipeline pads it: the one row of padding counts for all.

    `bias` [n, 1, 1, words]: what is added to the logits of a word."""

    bias: torch.Tensor | None = None

    def __call__(self, attn, hidden_states, encoder_hidden_states=None, attention_mask=None, rotary_emb=None):
        return super().__call__(attn, hidden_states, encoder_hidden_states, self.bias, rotary_emb)


def padding_bias(lengths: torch.Tensor, words: int) -> torch.Tensor:
    """For texts of these lengths in `words` rows, at least one of them padding: 0, then the logarithm of how often padding comes, then nothing."""
    row = torch.arange(words)
    bias = torch.where(row < lengths[:, None], 0.0, -torch.inf)
    bias[torch.arange(len(lengths)), lengths] = (TEXT_LENGTH - lengths).float().log()
    return bias[:, None, None]


class Denoiser(torch.nn.Module):
    """Text encoder and transformer, as the pipeline joins them."""

    def __init__(self, vocabulary: int) -> None:
        super().__init__()
        self.text, self.transformer = make_text(vocabulary), make_transformer()
        self.padded = Padded()
        for block in self.transformer.blocks:
            block.attn2.set_processor(self.padded)

    def forward(self, x: torch.Tensor, timestep: torch.Tensor, ids: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        words = self.text(ids, mask).last_hidden_state * mask[:, :, None]
        words = torch.nn.functional.pad(words, (0, 0, 0, 1))
        self.padded.bias = padding_bias(mask.sum(1).cpu(), words.shape[1]).to(x.device)
        return self.transformer(x, timestep, words, return_dict=False)[0]
