"""The tiny diffusers checkpoints of test/golden/image/checkpoints: classes, configurations, seeds, storage types."""

from dataclasses import replace

from diffusers import AutoencoderKL, AutoencoderTiny, UNet2DConditionModel, ZImageTransformer2DModel
from transformers import CLIPTextModel, CLIPTextModelWithProjection, Qwen3ForCausalLM

from image_configs_control import CONTROL
from image_configs_flux import FLUX
from image_configs_flux2 import FLUX2
from image_configs_lumina2 import LUMINA2
from image_configs_ltx import LTX
from image_configs_pixart import PIXART
from image_configs_qwen import QWEN_IMAGE
from image_configs_sana import SANA
from image_configs_sd3 import SD3
from image_configs_hunyuan import HUNYUAN
from image_configs_video import VIDEO
from image_configs_wan import WAN
from image_part import Checkpoint, Part, index

QWEN_VOCABULARY = 464
VOCABULARY = 720  # rows of the embedding; the tokenizer has 714, so that some ids lie above EOS
BOS_ID, EOS_ID = 712, 713


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


def vae(seed, dtype='f16', old_names=False, **config):
    widths = config.get('block_out_channels', (16, 16, 24))
    standard = dict(
        in_channels=3, out_channels=3, latent_channels=4, block_out_channels=widths, layers_per_block=1,
        norm_num_groups=8, sample_size=48, scaling_factor=0.18215,
        down_block_types=('DownEncoderBlock2D',) * len(widths), up_block_types=('UpDecoderBlock2D',) * len(widths),
    )  # fmt: skip
    gains = {'decoder.conv_out': 0.5}
    return Part('model', AutoencoderKL, standard | config, seed, dtype, gains, old_names=old_names)


def levels(kinds):
    """Block types of a UNet by letters, outermost first: c with cross-attention, p plain."""
    down = {'c': 'CrossAttnDownBlock2D', 'p': 'DownBlock2D'}
    up = {'c': 'CrossAttnUpBlock2D', 'p': 'UpBlock2D'}
    return {
        'down_block_types': tuple(down[kind] for kind in kinds),
        'up_block_types': tuple(up[kind] for kind in reversed(kinds)),
    }


def z_image(seed):
    sizes = dict(in_channels=16, dim=48, n_layers=2, n_refiner_layers=1, n_heads=2, n_kv_heads=2, cap_feat_dim=64)
    rope = dict(rope_theta=256.0, axes_dims=[8, 8, 8], axes_lens=[256, 32, 32])
    return Part('model', ZImageTransformer2DModel, sizes | rope, seed, 'bf16')


def qwen3(seed):
    sizes = dict(
        vocab_size=QWEN_VOCABULARY, hidden_size=64, intermediate_size=96, num_hidden_layers=3, num_attention_heads=2,
        num_key_value_heads=1, head_dim=32, rms_norm_eps=1e-6, rope_theta=1e6, max_position_embeddings=1024,
        attention_bias=False, tie_word_embeddings=True,
    )  # fmt: skip
    return Part('model', Qwen3ForCausalLM, sizes, seed, 'bf16')


def scheduler(model, **config):
    standard = dict(num_train_timesteps=1000, beta_start=0.00085, beta_end=0.012, beta_schedule='scaled_linear')
    return Part('scheduler', model, config if 'Flow' in model or 'EDM' in model else standard | config)


def tokenizer(**config):
    return Part('tokenizer', config=config)


def stable_diffusion(parts, pipeline='StableDiffusionPipeline', **more):
    """Returns a checkpoint of these components with its model_index.json."""
    classes = {
        'text_encoder': ('transformers', 'CLIPTextModel'),
        'text_encoder_2': ('transformers', 'CLIPTextModelWithProjection'),
        'tokenizer': ('transformers', 'CLIPTokenizer'),
        'tokenizer_2': ('transformers', 'CLIPTokenizer'),
        'unet': ('diffusers', 'UNet2DConditionModel'),
        'vae': ('diffusers', 'AutoencoderKL'),
    }
    components = {name: classes.get(name) or ('diffusers', part.model) for name, part in parts.items()}
    return Checkpoint(parts, index(pipeline, **components) | more)


def copy(source):
    return Part('copy', source=source)


PNDM = scheduler('PNDMScheduler', skip_prk_steps=True, set_alpha_to_one=False, steps_offset=1)
SD1_PNDM = replace(PNDM, extra={'clip_sample': False})  # as published; a class that replaces this one reads it
UNSAFE = {'safety_checker': [None, None], 'feature_extractor': [None, None], 'requires_safety_checker': False}
CHECKPOINTS = {
    'sd1': stable_diffusion(
        {'tokenizer': tokenizer(), 'text_encoder': clip(1), 'unet': unet(2), 'vae': vae(3), 'scheduler': SD1_PNDM}, **UNSAFE
    ),
    'sd1-inpaint': stable_diffusion(
        {
            'tokenizer': copy('sd1/tokenizer'),
            'text_encoder': copy('sd1/text_encoder'),
            'unet': unet(4, in_channels=9, block_out_channels=(16, 24), layers_per_block=2, **levels('cp')),
            'vae': copy('sd1/vae'),
            'scheduler': SD1_PNDM,
        },
        'StableDiffusionInpaintPipeline',
        **UNSAFE,
    ),
    'sd2': stable_diffusion(
        {
            'tokenizer': tokenizer(pad='!'),
            'text_encoder': clip(5, hidden_act='gelu', published=False),
            'unet': unet(
                6, block_out_channels=(24, 32), attention_head_dim=[1, 2], use_linear_projection=True,
                upcast_attention=True, **levels('cp'),
            ),
            'vae': vae(7, old_names=True, block_out_channels=(8, 16, 16)),
            'scheduler': scheduler(
                'DDIMScheduler', prediction_type='v_prediction', clip_sample=False, set_alpha_to_one=False,
                steps_offset=1, rescale_betas_zero_snr=True, timestep_spacing='trailing',
            ),
        },
        **UNSAFE,
    ),  # fmt: skip
    'sdxl': stable_diffusion(
        {
            'tokenizer': copy('sd1/tokenizer'),
            'tokenizer_2': copy('sd2/tokenizer'),
            'text_encoder': copy('sd1/text_encoder'),
            'text_encoder_2': clip(8, CLIPTextModelWithProjection, hidden_act='gelu'),
            'unet': unet(
                9, block_out_channels=(16, 32), attention_head_dim=[1, 2], transformer_layers_per_block=[1, 2],
                use_linear_projection=True, cross_attention_dim=128, addition_embed_type='text_time',
                addition_time_embed_dim=8, projection_class_embeddings_input_dim=48 + 6 * 8, **levels('pc'),
            ),
            'vae': vae(10, 'f32', block_out_channels=(8, 16), scaling_factor=0.13025),
            'scheduler': scheduler('EulerDiscreteScheduler', steps_offset=1, timestep_spacing='leading'),
        },
        'StableDiffusionXLPipeline',
        force_zeros_for_empty_prompt=True,
    ),  # fmt: skip
    'sdxl-refiner': Checkpoint(
        {
            'unet': unet(
                17, block_out_channels=(8, 16), attention_head_dim=[1, 2], transformer_layers_per_block=[1, 1],
                use_linear_projection=True, cross_attention_dim=64, addition_embed_type='text_time',
                addition_time_embed_dim=8, projection_class_embeddings_input_dim=48 + 5 * 8, **levels('pc'),
            ),
        },
        index(
            'StableDiffusionXLImg2ImgPipeline',
            scheduler=('diffusers', 'EulerDiscreteScheduler'),
            text_encoder=None,
            text_encoder_2=('transformers', 'CLIPTextModelWithProjection'),
            tokenizer=None,
            tokenizer_2=('transformers', 'CLIPTokenizer'),
            unet=('diffusers', 'UNet2DConditionModel'),
            vae=('diffusers', 'AutoencoderKL'),
        )
        | {'requires_aesthetics_score': True, 'force_zeros_for_empty_prompt': False},
    ),  # fmt: skip
    'sdxl-edm': Checkpoint(
        {
            'vae': vae(
                18, block_out_channels=(8, 16), scaling_factor=0.5, latents_mean=[-1.5, 2.0, -1.25, 2.5],
                latents_std=[8.5, 6.0, 6.5, 5.25],
            ),
            'scheduler': scheduler('EDMDPMSolverMultistepScheduler'),
        },
    ),  # fmt: skip
    'z-image': Checkpoint(
        {
            'tokenizer': Part('qwen tokenizer'),
            'text_encoder': qwen3(11),
            'transformer': z_image(12),
            'vae': vae(
                13, latent_channels=16, block_out_channels=(8, 16, 16), use_quant_conv=False, use_post_quant_conv=False, scaling_factor=0.3611,
                shift_factor=0.1159,
            ),
            'scheduler': scheduler('FlowMatchEulerDiscreteScheduler', num_train_timesteps=1000, shift=3.0),
        },
        index(
            'ZImagePipeline',
            scheduler=('diffusers', 'FlowMatchEulerDiscreteScheduler'),
            text_encoder=('transformers', 'Qwen3Model'),
            tokenizer=('transformers', 'Qwen2Tokenizer'),
            transformer=('diffusers', 'ZImageTransformer2DModel'),
            vae=('diffusers', 'AutoencoderKL'),
        ),
    ),  # fmt: skip
    'unet-lcm': Checkpoint({'': unet(14, block_out_channels=(16, 24), time_cond_proj_dim=16, **levels('cp'))}),
    'unet-sdxl-inpaint': Checkpoint(
        {
            '': unet(
                19, in_channels=9, block_out_channels=(8, 16), attention_head_dim=[1, 2], transformer_layers_per_block=[1, 1],
                use_linear_projection=True, cross_attention_dim=128, addition_embed_type='text_time',
                addition_time_embed_dim=8, projection_class_embeddings_input_dim=48 + 6 * 8, **levels('pc'),
            )
        }
    ),
    'unet-narrow': Checkpoint(
        {'': unet(15, block_out_channels=(8, 40), attention_head_dim=1, **levels('cp'))}
    ),
    'autoencoder-tiny': Checkpoint(
        {
            '': Part(
                'model', AutoencoderTiny,
                dict(
                    encoder_block_out_channels=(16,) * 3, decoder_block_out_channels=(16,) * 3,
                    num_encoder_blocks=(1, 2, 1), num_decoder_blocks=(2, 1, 1), latent_channels=4,
                ),
                16,
            )
        }
    ),
} | QWEN_IMAGE | FLUX | FLUX2 | CONTROL | SD3 | SANA | PIXART | LUMINA2 | VIDEO | WAN | LTX | HUNYUAN  # fmt: skip
