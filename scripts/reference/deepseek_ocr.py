"""DeepSeek-OCR's case of ocr.py.

transformers has no class of its name. Its Unlimited-OCR has the same tower, and a language model that computes the same as long as its window is not
left. What the published program does with images, by Pillow, is computed here.
"""

import json
import re

import numpy
import torch
import transformers
from PIL import ImageOps

BYTES = 256
SPECIAL = ['<pad>', '<eos>', '<bos>', '<image>']
PATCH, WHOLE, TILE, MOST_TILES = 16, 240, 32, 9
TRAINED, CLIP_TRAINED = 256, 84
SAM = dict(hidden_size=36, num_hidden_layers=2, num_attention_heads=3, global_attn_indexes=[1], downsample_channels=[40, 48])
CLIP = dict(hidden_size=48, num_hidden_layers=2, num_attention_heads=4)
TEXT = dict(hidden_size=48, intermediate_size=72, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=4, max_position_embeddings=2048,
            vocab_size=BYTES + len(SPECIAL), n_routed_experts=6, num_experts_per_tok=2, moe_intermediate_size=28, n_shared_experts=2,
            bos_token_id=BYTES + 2, eos_token_id=BYTES + 1)  # fmt: skip
ROUTING = dict(first_k_dense_replace=1, n_group=1, topk_group=1, topk_method='greedy')


def tile_grid(width, height):
    """Columns and rows of tiles: the ratio nearest to the image's; of equal ones the last whose tiles cover less than twice the image."""
    shapes = [(columns, tiles // columns) for tiles in range(2, MOST_TILES + 1) for columns in range(1, tiles + 1) if tiles % columns == 0]
    best, least = None, float('inf')
    for columns, rows in shapes:
        apart = abs(width / height - columns / rows)
        if apart < least or (apart == least and width * height > TILE**2 * columns * rows / 2):
            best, least = (columns, rows), min(apart, least)
    return best


def values(image):
    return (torch.from_numpy(numpy.array(image)).permute(2, 0, 1).float() / 255 - 0.5) / 0.5


def views(image):
    """The whole image in a square, tiles of it, and their grid."""
    image = image.convert('RGB')
    whole = values(ImageOps.pad(image, (WHOLE, WHOLE), color=(127, 127, 127)))
    if max(image.size) <= TILE:
        return whole, [], (1, 1)
    columns, rows = tile_grid(*image.size)
    drawn = values(image.resize((columns * TILE, rows * TILE)))
    tiles = [drawn[:, row * TILE : (row + 1) * TILE, column * TILE : (column + 1) * TILE] for row in range(rows) for column in range(columns)]
    return whole, tiles, (columns, rows)


def cells(side):
    return -(-(side // PATCH) // 4)


class Processor:
    """Texts follow each other as they are; each image takes a token a cell, one behind each row of cells, and one behind all."""

    image_mean = image_std = [0.5, 0.5, 0.5]

    def __init__(self, tokenizer):
        self.tokenizer, self.image_processor = tokenizer, self

    def apply_chat_template(self, turns, tokenize, add_generation_prompt):
        parts = [part for turn in turns for part in turn['content']]
        return '<bos>' + ''.join('<image>\n' if part['type'] == 'image' else part['text'] for part in parts)

    def __call__(self, text, images, return_tensors, add_special_tokens=False):
        shown = [views(image) for image in images or []]
        counts = iter((rows * cells(TILE) * (columns * cells(TILE) + 1) if tiles else 0) + cells(WHOLE) * (cells(WHOLE) + 1) + 1
                      for _, tiles, (columns, rows) in shown)  # fmt: skip
        text = re.sub('<image>', lambda _: '<image>' * next(counts), text)
        out = dict(self.tokenizer(text, return_tensors='pt', add_special_tokens=False))
        if shown:
            out |= dict(pixel_values=torch.stack([whole for whole, _, _ in shown]), patches_grid=[list(grid) for _, _, grid in shown],
                        num_local_patches=[len(tiles) for _, tiles, _ in shown])  # fmt: skip
            tiles = [tile for _, some, _ in shown for tile in some]
            out |= dict(pixel_values_local=torch.stack(tiles)) if tiles else {}
        return transformers.BatchFeature(out)

    def save_pretrained(self, folder):
        self.tokenizer.save_pretrained(folder)
        settings = dict(candidate_resolutions=[[WHOLE, WHOLE]], tile_size=TILE, downsample_ratio=4, patch_size=PATCH, image_mean=self.image_mean,
                        image_std=self.image_std, normalize=True, image_token='<image>', sft_format='plain', processor_class='DeepseekVLV2Processor')  # fmt: skip
        (folder / 'processor_config.json').write_text(json.dumps(settings, indent=2) + '\n')


def model():
    sam = dict(SAM, image_size=TRAINED, mlp_dim=4 * SAM['hidden_size'])
    clip = dict(CLIP, intermediate_size=4 * CLIP['hidden_size'], image_size=CLIP_TRAINED)
    config = transformers.UnlimitedOcrConfig(vision_config=dict(sam_config=sam, encoder_config=clip), image_token_id=BYTES + 3,
                                             text_config=dict(TEXT, mlp_layer_types=['dense', 'sparse'], sliding_window=4096, rope_parameters=dict(rope_type='default', rope_theta=10000.0)))  # fmt: skip
    return transformers.UnlimitedOcrForConditionalGeneration(config)


def patches(out, cut):
    squares = [*out['pixel_values'], *out.get('pixel_values_local', [])]
    return torch.cat([cut(square, PATCH) for square in squares])


def noise(model, draws, joined):
    """Patches of a whole image and of two tiles beside each other."""
    across, of_tile = WHOLE // PATCH, TILE // PATCH
    given = dict(whole=draws('whole', (1, across**2, 3 * PATCH**2), 1), tiles=draws('tiles', (2, of_tile**2, 3 * PATCH**2), 1))
    whole = joined(given['whole'][0], across, across, PATCH)[None]
    tiles = torch.stack([joined(tile, of_tile, of_tile, PATCH) for tile in given['tiles']])
    seen = model.model.get_image_features(whole, tiles, num_local_patches=[2], patches_grid=[[2, 1]])
    return given, seen.pooler_output[0]


NAMES = {
    r'^model\.language_model\.': 'model.',
    r'^model\.vision_tower\.sam_encoder\.': 'model.sam_model.',
    r'^model\.vision_tower\.vision_encoder\.': 'model.vision_model.',
    r'^model\.multi_modal_projector\.': 'model.projector.layers.',
    r'^model\.view_separator': 'model.view_seperator',
    r'(sam_model)\.layers\.(\d+)\.layer_norm(\d)\.': r'\1.blocks.\2.norm\3.',
    r'(sam_model)\.layers\.': r'\1.blocks.',
    r'patch_embed\.projection\.': 'patch_embed.proj.',
    r'neck\.conv1\.': 'neck.0.',
    r'neck\.layer_norm1\.': 'neck.1.',
    r'neck\.conv2\.': 'neck.2.',
    r'neck\.layer_norm2\.': 'neck.3.',
    r'(sam_model)\.proj\.conv1\.': r'\1.net_2.',
    r'(sam_model)\.proj\.conv2\.': r'\1.net_3.',
    r'(vision_model)\.encoder\.': r'\1.transformer.',
}


def stored(tensors):
    """Tensors by their published names; CLIP's queries, keys and values are one tensor."""
    found = {}
    for key, value in tensors.items():
        if 'vision_encoder' in key and '.q_proj.' in key:
            value = torch.cat([tensors[key.replace('q_proj', f'{one}_proj')] for one in 'qkv'])
            key = key.replace('q_proj', 'qkv_proj')
        elif 'vision_encoder' in key and re.search(r'\.[kv]_proj\.', key):
            continue
        for there, here in NAMES.items():
            key = re.sub(there, here, key)
        found[key] = value
    return found


def flat(_):
    """The published form of the configuration."""
    language = dict(TEXT, **ROUTING, architectures=['DeepseekV2ForCausalLM'], kv_lora_rank=None, q_lora_rank=None, qk_nope_head_dim=0, qk_rope_head_dim=0,
                    v_head_dim=0, use_mla=False, lm_head=True, rm_head=False, torch_dtype='float16')  # fmt: skip
    sam = dict(width=SAM['hidden_size'], heads=SAM['num_attention_heads'], layers=SAM['num_hidden_layers'],
               downsample_channels=SAM['downsample_channels'], global_attn_indexes=SAM['global_attn_indexes'])  # fmt: skip
    clip = dict(width=CLIP['hidden_size'], heads=CLIP['num_attention_heads'], layers=CLIP['num_hidden_layers'], image_size=CLIP_TRAINED, patch_size=14)
    vision = dict(image_size=TRAINED, mlp_ratio=3.7362, model_name='deeplip_b_l', model_type='vision', width={'clip-l-14-224': clip, 'sam_vit_b': sam})
    code = dict(AutoConfig='modeling_deepseekocr.DeepseekOCRConfig', AutoModel='modeling_deepseekocr.DeepseekOCRForCausalLM')
    projector = dict(input_dim=2 * CLIP['hidden_size'], n_embed=TEXT['hidden_size'], model_type='mlp_projector', projector_type='linear')
    return dict(architectures=['DeepseekOCRForCausalLM'], auto_map=code, model_type='DeepseekOCR', language_config=language, projector_config=projector,
                vision_config=vision, candidate_resolutions=[[WHOLE, WHOLE]], global_view_pos='head', tile_tag='2D', tie_word_embeddings=False,
                torch_dtype='float16')  # fmt: skip
