"""The tiny diffusers checkpoints of test/golden/image/checkpoints: classes, configurations, seeds, storage types."""

from dataclasses import dataclass, field

from diffusers import AutoencoderKL, UNet2DConditionModel
from transformers import CLIPTextModel

VOCABULARY = 720  # rows of the embedding; the tokenizer has 714, so that some ids lie above EOS
BOS_ID, EOS_ID = 712, 713


@dataclass
class Part:
    """A component: `kind` is model, tokenizer, scheduler or copy (of `source`, another checkpoint's component)."""

    kind: str
    model: type | str = ''
    config: dict = field(default_factory=dict)
    seed: int = 0
    dtype: str = 'f16'
    gains: dict = field(default_factory=dict)
    source: str = ''
    published: bool = True  # CLIP: tensor names as in published checkpoints, else as transformers 5 writes them
    old_names: bool = False  # AutoencoderKL: attention as query, key, value, proj_attn


@dataclass
class Checkpoint:
    parts: dict[str, Part]
    index: dict | None = None


def clip(seed, model=CLIPTextModel, published=True, **config):
    standard = dict(
        vocab_size=VOCABULARY, hidden_size=64, intermediate_size=96, num_hidden_layers=3, num_attention_heads=2,
        max_position_embeddings=77, projection_dim=48, hidden_act='quick_gelu', bos_token_id=0, eos_token_id=2,
        pad_token_id=1, layer_norm_eps=1e-5,
    )  # fmt: skip
    return Part('model', model, standard | config, seed, published=published)


def unet(seed, dtype='f16', **config):
    standard = dict(
        sample_size=12, in_channels=4, out_channels=4, layers_per_block=1, norm_num_groups=8, cross_attention_dim=64,
        block_out_channels=(16, 32, 32), attention_head_dim=2,
        down_block_types=('CrossAttnDownBlock2D', 'CrossAttnDownBlock2D', 'DownBlock2D'),
        up_block_types=('UpBlock2D', 'CrossAttnUpBlock2D', 'CrossAttnUpBlock2D'),
    )  # fmt: skip
    return Part('model', UNet2DConditionModel, standard | config, seed, dtype)


def vae(seed, dtype='f16', **config):
    widths = config.get('block_out_channels', (16, 16, 24))
    standard = dict(
        in_channels=3, out_channels=3, latent_channels=4, block_out_channels=widths, layers_per_block=1,
        norm_num_groups=8, sample_size=48, scaling_factor=0.18215,
        down_block_types=('DownEncoderBlock2D',) * len(widths), up_block_types=('UpDecoderBlock2D',) * len(widths),
    )  # fmt: skip
    return Part('model', AutoencoderKL, standard | config, seed, dtype, gains={'decoder.conv_out': 0.5})


def scheduler(model, **config):
    standard = dict(num_train_timesteps=1000, beta_start=0.00085, beta_end=0.012, beta_schedule='scaled_linear')
    return Part('scheduler', model, config if 'Flow' in model else standard | config)


def tokenizer(**config):
    return Part('tokenizer', config=config)


def copy(source):
    return Part('copy', source=source)


def index(pipeline, **components):
    """model_index.json; an absent component is [null, null]."""
    listed = {name: list(place) if place else [None, None] for name, place in components.items()}
    return {'_class_name': pipeline, '_diffusers_version': '0.42.1', **listed}


CHECKPOINTS = {
    'sd1': Checkpoint(
        parts={
            'tokenizer': tokenizer(),
            'text_encoder': clip(1),
            'unet': unet(2),
            'vae': vae(3),
            'scheduler': scheduler('PNDMScheduler', skip_prk_steps=True, set_alpha_to_one=False, steps_offset=1),
        },
        index=index(
            'StableDiffusionPipeline',
            text_encoder=('transformers', 'CLIPTextModel'),
            tokenizer=('transformers', 'CLIPTokenizer'),
            unet=('diffusers', 'UNet2DConditionModel'),
            vae=('diffusers', 'AutoencoderKL'),
            scheduler=('diffusers', 'PNDMScheduler'),
            safety_checker=None,
            feature_extractor=None,
        )
        | {'requires_safety_checker': False},
    ),
}
