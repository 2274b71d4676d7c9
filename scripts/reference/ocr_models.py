"""The tiny models of ocr.py: widths, depths and patches that no published one has."""

from dataclasses import dataclass, field
from typing import Callable

import deepseek_ocr as deepseek
import torch
import transformers
from transformers.models.glm46v.image_processing_pil_glm46v import Glm46VImageProcessorPil
from transformers.models.paddleocr_vl.image_processing_pil_paddleocr_vl import PaddleOCRVLImageProcessorPil
from transformers.models.pixtral.image_processing_pil_pixtral import PixtralImageProcessorPil

BYTES = 256
QWEN = ['<|endoftext|>', '<|im_end|>', '<|im_start|>', '<|image_pad|>', '<|vision_pad|>', '<|vision_end|>']
QWEN_TEMPLATE = (
    "{% for message in messages %}<|im_start|>{{ message['role'] }}\n{% if message['content'] is string %}{{ message['content'] }}{% else %}"
    "{% for part in message['content'] %}{% if part['type'] == 'image' %}<|image_pad|>{% else %}{{ part['text'] }}{% endif %}{% endfor %}{% endif %}"
    "<|im_end|>\n{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
SIZES = dict(hidden_size=48, intermediate_size=72, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2, max_position_embeddings=2048,
             bos_token_id=None, pad_token_id=BYTES)  # fmt: skip


@dataclass
class Case:
    special: list
    """Texts of tokens by their name in transformers' tokenizers."""
    tokens: dict
    model: Callable
    """From a tokenizer."""
    processor: Callable
    """Patches of what the processor returns, in the order and with the columns that the tower reads."""
    patches: Callable
    """Patches of noise, and their rows, from a model and draws."""
    rows: Callable
    """Width and height of the image that the noise stands for."""
    noise: list
    """Whether the columns of a patch are pixel by pixel."""
    by_pixels: bool = False
    """The published name of a tensor."""
    published: Callable = field(default=lambda name: name)
    """Tensors as published, from those under the names of transformers; None: renamed alone."""
    stored: Callable | None = None
    """The published form of a configuration."""
    flat: Callable = field(default=lambda config: config)

    def id(self, name):
        return BYTES + self.special.index(self.tokens[name])


def cut(image, size):
    """[3, height, width] → patches, channel by channel"""
    _, height, width = image.shape
    pieces = image.reshape(3, height // size, size, width // size, size)
    return pieces.permute(1, 3, 0, 2, 4).reshape(-1, 3 * size**2)


def joined(patches, rows, columns, size):
    pieces = patches.reshape(rows, columns, 3, size, size)
    return pieces.permute(2, 0, 3, 1, 4).reshape(3, rows * size, columns * size)


def lighton_ocr():
    """Sides of images are multiples of a patch: what fills no cell of 2 × 2 patches is not seen."""
    size, (rows, columns) = 4, (7, 10)
    tokens = dict(image='<|image_pad|>', image_break='<|vision_pad|>', image_end='<|vision_end|>')

    def model():
        text = dict(SIZES, model_type='qwen3', head_dim=16, vocab_size=BYTES + len(QWEN), rms_norm_eps=1e-6, rope_theta=1e6, eos_token_id=BYTES + 1)
        vision = dict(model_type='pixtral', hidden_size=36, intermediate_size=52, num_hidden_layers=2, num_attention_heads=3, head_dim=12, patch_size=size,
                      hidden_act='silu')  # fmt: skip
        config = transformers.LightOnOcrConfig(text_config=text, vision_config=vision, image_token_id=case.id('image'))
        return transformers.LightOnOcrForConditionalGeneration(config)

    def processor(tokenizer):
        images = PixtralImageProcessorPil(size=dict(longest_edge=58), patch_size=dict(height=size, width=size))
        return transformers.LightOnOcrProcessor(images, tokenizer, patch_size=size, spatial_merge_size=2, chat_template=QWEN_TEMPLATE)

    def noise(model, draws):
        patches = draws('patches', (1, rows * columns, 3 * size**2), 1)
        pixels = joined(patches[0], rows, columns, size)[None]
        return patches, model.model.get_image_features(pixels, torch.tensor([[rows * size, columns * size]])).pooler_output[0]

    case = Case(QWEN, tokens, model, processor, lambda out: cut(out['pixel_values'][0], size), noise, [columns * size, rows * size])
    return case


LFM2 = ['<|pad|>', '<|im_end|>', '<|im_start|>', '<image>', '<|image_start|>', '<|image_end|>', '<|img_thumbnail|>'] + [
    f'<|img_row_{row}_col_{column}|>' for row in range(1, 5) for column in range(1, 5)
]


def lfm2_vl():
    """
    Tiles of 3 × 3 cells of 2 × 2 patches, of the size that llama.cpp's converter takes; positions of 5 × 5 patches are shrunk and enlarged; the
    tower has modules as transformers 4 names them.
    """
    size, (rows, columns) = 16, (2, 6)
    tokens = dict(image='<image>', image_start='<|image_start|>', image_end='<|image_end|>', image_thumbnail='<|img_thumbnail|>')

    def model():
        text = dict(SIZES, model_type='lfm2', vocab_size=BYTES + len(LFM2), num_hidden_layers=3, layer_types=['conv', 'full_attention', 'conv'],
                    eos_token_id=BYTES + 1, block_auto_adjust_ff_dim=False)  # fmt: skip
        vision = dict(model_type='siglip2_vision_model', hidden_size=36, intermediate_size=52, num_hidden_layers=2, num_attention_heads=3, patch_size=size,
                      num_patches=25, vision_use_head=False)  # fmt: skip
        config = transformers.Lfm2VlConfig(text_config=text, vision_config=vision, image_token_id=case.id('image'), projector_hidden_size=60)
        return transformers.Lfm2VlForConditionalGeneration(config)

    def processor(tokenizer):
        images = transformers.Lfm2VlImageProcessor(do_convert_rgb=True, encoder_patch_size=size, tile_size=96, min_image_tokens=2, max_image_tokens=4, max_tiles=4)
        return transformers.Lfm2VlProcessor(images, tokenizer, chat_template=QWEN_TEMPLATE.replace('<|image_pad|>', '<image>'))

    def patches(out):
        return out['pixel_values'][out['pixel_attention_mask'] > 0]

    def noise(model, draws):
        values = draws('patches', (rows * columns, 3 * size**2), 1)
        shapes, mask = torch.tensor([[rows, columns]]), torch.ones(1, rows * columns, dtype=torch.int32)
        return values, model.model.get_image_features(values[None], shapes, mask).pooler_output[0]

    def published(name):
        return name.replace('vision_tower.', 'vision_tower.vision_model.')

    case = Case(LFM2, tokens, model, processor, patches, noise, [columns * size, rows * size], by_pixels=True, published=published)
    return case


GLM = ['<|endoftext|>', '<|user|>', '<|assistant|>', '[gMASK]', '<sop>', '<|image|>', '<|begin_of_image|>', '<|end_of_image|>', '<|video|>',
       '<|begin_of_video|>', '<|end_of_video|>']  # fmt: skip
GLM_TEMPLATE = (
    "[gMASK]<sop>{% for message in messages %}<|{{ message['role'] }}|>\n{% if message['content'] is string %}{{ message['content'] }}{% else %}"
    "{% for part in message['content'] %}{% if part['type'] == 'image' %}<|begin_of_image|><|image|><|end_of_image|>"
    "{% elif part['type'] == 'video' %}<|begin_of_video|><|video|><|end_of_video|>{% else %}{{ part['text'] }}"
    "{% endif %}{% endfor %}{% endif %}{% endfor %}{% if add_generation_prompt %}<|assistant|>\n{% endif %}"
)


def glm(model_class, config_class, text, vision):
    """Cells of 2 × 2 patches of two frames."""
    size, (rows, columns) = 4, (6, 8)
    tokens = dict(image='<|image|>', video='<|video|>')
    names = dict(image='<|image|>', video='<|video|>', image_start='<|begin_of_image|>', image_end='<|end_of_image|>', video_start='<|begin_of_video|>',
                 video_end='<|end_of_video|>')  # fmt: skip
    rope = dict(rope_type='default', rope_theta=10000.0, **text.pop('rope'))

    def model():
        own = dict(SIZES, vocab_size=BYTES + len(GLM), eos_token_id=BYTES, head_dim=16, rope_parameters=rope, **text)
        shown = dict(hidden_size=36, num_heads=3, depth=2, patch_size=size, out_hidden_size=48, intermediate_size=52, **vision)
        ids = {f'{name}_token_id': BYTES + GLM.index(text) for name, text in names.items()}
        return model_class(config_class(text_config=own, vision_config=shown, tie_word_embeddings=False, **ids))

    def processor(tokenizer):
        images = Glm46VImageProcessorPil(patch_size=size, size=dict(shortest_edge=8 * 8 * 2 * 4, longest_edge=8 * 8 * 2 * 24))
        videos = transformers.Glm46VVideoProcessor(patch_size=size, size=dict(shortest_edge=8 * 8 * 2 * 4, longest_edge=8 * 8 * 2 * 60))
        return transformers.Glm46VProcessor(images, tokenizer, videos, chat_template=GLM_TEMPLATE)

    def noise(model, draws):
        values = draws('patches', (1, rows * columns // 2, 2, 6 * size**2), 1)
        return values, model.model.get_image_features(values.reshape(rows * columns, -1), torch.tensor([[1, rows, columns]])).pooler_output[0]

    return Case(GLM, tokens, model, processor, lambda out: out['pixel_values'], noise, [columns * size, rows * size])


def glm_ocr():
    """Norms on both sides of a block, adjacent pairs of dimensions turn."""
    text = dict(model_type='glm_ocr_text', rope=dict(mrope_section=[2, 3, 3], partial_rotary_factor=1.0))
    return glm(transformers.GlmOcrForConditionalGeneration, transformers.GlmOcrConfig, text, {})


def glm_4v_moe():
    """Learned positions of 5 × 5 patches; the second layer has experts; half of a head's dimensions turns."""
    experts = dict(n_routed_experts=6, num_experts_per_tok=2, moe_intermediate_size=28, n_shared_experts=1, routed_scaling_factor=1.5)
    text = dict(model_type='glm4v_moe_text', rope=dict(mrope_section=[1, 1, 2], partial_rotary_factor=0.5), **experts)
    return glm(transformers.Glm4vMoeForConditionalGeneration, transformers.Glm4vMoeConfig, text, dict(image_size=20))


PADDLE = ['<unk>', '</s>', '<|begin_of_sentence|>', '<|IMAGE_START|>', '<|IMAGE_PLACEHOLDER|>', '<|IMAGE_END|>', '<|video_pad|>']
PADDLE_TEMPLATE = (
    "<|begin_of_sentence|>{% for message in messages %}{{ message['role'] }}: {% if message['content'] is string %}{{ message['content'] }}{% else %}"
    "{% for part in message['content'] %}{% if part['type'] == 'image' %}<|IMAGE_START|><|IMAGE_PLACEHOLDER|><|IMAGE_END|>{% else %}{{ part['text'] }}"
    "{% endif %}{% endfor %}{% endif %}\n{% endfor %}{% if add_generation_prompt %}Assistant: {% endif %}"
)


def paddleocr_vl():
    """Positions of 5 × 5 patches; in the published form: one configuration for both halves, other names of modules."""
    size, (rows, columns) = 4, (6, 8)
    tokens = dict(image='<|IMAGE_PLACEHOLDER|>')

    def model():
        rope = dict(rope_type='default', rope_theta=10000.0, mrope_section=[2, 3, 3])
        text = dict(SIZES, vocab_size=BYTES + len(PADDLE), eos_token_id=BYTES + 1, head_dim=16, rope_parameters=rope, tie_word_embeddings=False)
        vision = dict(hidden_size=36, intermediate_size=52, num_hidden_layers=2, num_attention_heads=3, patch_size=size, image_size=20)
        ids = dict(image_token_id=case.id('image'), video_token_id=BYTES + 6, vision_start_token_id=BYTES + 3, vision_end_token_id=BYTES + 5)
        config = transformers.PaddleOCRVLConfig(text_config=text, vision_config=vision, tie_word_embeddings=False, **ids)
        return transformers.PaddleOCRVLForConditionalGeneration(config)

    def processor(tokenizer):
        images = PaddleOCRVLImageProcessorPil(patch_size=size, size=dict(shortest_edge=8 * 8 * 4, longest_edge=8 * 8 * 24))
        return transformers.PaddleOCRVLProcessor(images, tokenizer, chat_template=PADDLE_TEMPLATE)

    def noise(model, draws):
        values = draws('patches', (1, rows * columns, 1, 3 * size**2), 1)
        pixels = values.reshape(rows * columns, 3, size, size)
        return values, model.model.get_image_features(pixels, torch.tensor([[1, rows, columns]])).pooler_output[0]

    def published(name):
        for there, alone in {'model.language_model.': 'model.', 'model.visual.': 'visual.', 'model.projector.': 'mlp_AR.'}.items():
            if name.startswith(there):
                return name.replace(there, alone)
        return name

    def flat(config):
        text = config.pop('text_config')
        rope = text.pop('rope_parameters')
        theta = rope.pop('rope_theta')
        code = dict(AutoModelForCausalLM='modeling_paddleocr_vl.PaddleOCRVLForConditionalGeneration')
        return {**text, **config, 'rope_theta': theta, 'rope_scaling': {**rope, 'type': 'default'}, 'auto_map': code}

    case = Case(PADDLE, tokens, model, processor, lambda out: out['pixel_values'].flatten(1), noise, [columns * size, rows * size], published=published,
                flat=flat)  # fmt: skip
    return case


def deepseek_ocr():
    """The whole image in four windows, tiles in a part of one; learned positions shrunk and enlarged."""
    case = Case(deepseek.SPECIAL, dict(image='<image>', bos='<bos>'), deepseek.model, deepseek.Processor, lambda out: deepseek.patches(out, cut),
                lambda model, draws: deepseek.noise(model, draws, joined), [2 * deepseek.TILE, deepseek.TILE], stored=deepseek.stored, flat=deepseek.flat)  # fmt: skip
    return case


MODELS = {'deepseek-ocr': deepseek_ocr(), 'glm-4v-moe': glm_4v_moe(), 'glm-ocr': glm_ocr(), 'lfm2-vl': lfm2_vl(), 'lighton-ocr': lighton_ocr(), 'paddleocr-vl': paddleocr_vl()}
