"""Makes the GGUF files of tiny checkpoints that read images or sounds:  python scripts/reference/gguf_towers.py <folder of llama.cpp> [NAME…]

test/golden/gguf-towers/<name>/ has mmproj-<name>-<type>.gguf, and of some <name>-<type>.gguf: the tower and the language model of a checkpoint below
test/golden, as llama.cpp's own converter makes them (the checkout that gguf_files.py names). What transformers computes with the checkpoint
is what they must compute. Checkpoints are laid out as they are published before they are converted.
"""

import json
import shutil
import sys
import tempfile
from pathlib import Path

# tokenizers.py beside this file is not the package of that name.
sys.path = [path for path in sys.path if Path(path) != Path(__file__).parent]
LLAMA_CPP, ONLY = Path(sys.argv[1]), sys.argv[2:]
sys.path.insert(0, str(LLAMA_CPP))
sys.path.insert(0, str(LLAMA_CPP / 'gguf-py'))
sys.path.append(str(Path(__file__).parent))

import gguf  # noqa: E402
import torch  # noqa: E402
from conversion import ModelBase, ModelType, get_model_architecture, get_model_class  # noqa: E402
from recipe import drawn_for, keep_gguf  # noqa: E402
from safetensors.torch import load_file, save_file  # noqa: E402

GOLDEN = Path(__file__).parents[2] / 'test' / 'golden'
ROOT = GOLDEN / 'gguf-towers'
QWEN = [('model.visual.', 'visual.'), ('model.language_model.', 'model.')]
OLDER = [
    ('model.language_model.', 'language_model.model.'),
    ('lm_head.', 'language_model.lm_head.'),
    ('model.vision_tower.', 'vision_tower.'),
    ('model.multi_modal_projector.', 'multi_modal_projector.'),
]
SIGLIP = [('model.vision_tower.', 'vision_tower.vision_model.'), *OLDER]
RARE, NEVER = 'þþ', 'ÿ'
IMAGENET = {'image_mean': [0.485, 0.456, 0.406], 'image_std': [0.229, 0.224, 0.225]}
# Folder, whether its language model is written too, and names of tensors as published.
MODELS = {
    'qwen2-vl': ('media/qwen2-vl', False, QWEN),
    'qwen2-5-vl': ('media/qwen2-5-vl', True, QWEN),
    'qwen3-vl': ('media/qwen3-vl', True, []),
    'gemma3': ('gemma3-media/whole', True, SIGLIP),
    'gemma3n': ('gemma3n-media/small', True, []),
    'gemma4': ('gemma4-media/dense', False, []),
    'gemma4-e': ('gemma4-media/small', False, []),
    'gemma4-unified': ('gemma4-media/unified', True, []),
    'internvl': ('internvl/qwen2-original', True, []),
    'smolvlm': ('idefics3/smolvlm', True, []),
    'pixtral': ('pixtral/pixtral', False, OLDER),
    'mistral3': ('pixtral/mistral3', True, OLDER),
    'deepseek-ocr': ('ocr/deepseek-ocr', True, []),
    'glm-4v-moe': ('ocr/glm-4v-moe', False, []),
    'glm-ocr': ('ocr/glm-ocr', True, []),
    'lfm2-vl': ('ocr/lfm2-vl', False, []),
    'lighton-ocr': ('ocr/lighton-ocr', False, []),
    'llama4': ('llama4-media/small', False, []),
    'paddleocr-vl': ('ocr/paddleocr-vl', True, []),
    'qwen2-audio': ('audio/qwen2-audio', False, OLDER),
    'voxtral': ('audio/voxtral', True, OLDER),
}


def published(source, folder, names):
    """Copies a checkpoint with its tensors under other names. A tower ends with the layer whose states are taken."""
    for path in source.iterdir():
        if path.suffix in ('.json', '.jinja'):
            shutil.copy(path, folder)
    config = json.loads((source / 'config.json').read_text())
    tensors = {}
    for name, value in load_file(source / 'model.safetensors').items():
        there = next((pair for pair in names if name.startswith(pair[0])), ('', ''))
        # The converter adds 1 to some vectors, which has to be exact.
        tensors[there[1] + name.removeprefix(there[0])] = value.float() if value.dim() == 1 else value
    if config.get('vision_feature_layer', -1) < -1:
        vision = config['vision_config']
        vision['num_hidden_layers'] += 1 + config.pop('vision_feature_layer')
        unread = f'.layers.{vision["num_hidden_layers"]}.'
        tensors = {name: value for name, value in tensors.items() if 'vision_tower.' not in name or unread not in name}
    if source.parent.name == 'pixtral':
        # Published towers have the longest side of an image as their own size.
        settings = [json.loads(path.read_text()) for path in folder.glob('*processor_config.json')]
        config['vision_config']['image_size'] = next(one['size'] for one in [*settings, settings[0].get('image_processor', {})] if 'size' in one)['longest_edge']
    if source.name == 'deepseek-ocr':
        tensors = published_pages(tensors, config)
    elif source.parent.name == 'ocr':
        images = json.loads((folder / 'processor_config.json').read_text())['image_processor']
        if source.name == 'lighton-ocr':
            # The converter knows the class by its first name; published towers have the longest side of an image as their own size.
            config['architectures'] = ['LightOnOCRForConditionalGeneration']
            config['vision_config']['image_size'] = images['size']['longest_edge']
        if source.name == 'paddleocr-vl':
            config['vision_config']['architectures'] = ['PaddleOCRVisionModel']
            images |= dict(min_pixels=images['size']['shortest_edge'], max_pixels=images['size']['longest_edge'])
        (folder / 'preprocessor_config.json').write_text(json.dumps(images))
    if 'subsampling_conv_channels' in (config.get('audio_config') or {}):
        config['audio_config']['input_feat_size'] = config['audio_config']['subsampling_conv_channels'][0]
    if source.name == 'unified':
        # Published configurations state the sizes of the full layers by these keys.
        text = config['text_config']
        full = text['per_layer_config'][str(text['layer_types'].index('full_attention'))]
        text |= dict(global_head_dim=full['head_dim'], num_global_key_value_heads=full['num_key_value_heads'], moe_intermediate_size=None)
    if source.parent.name == 'gemma3n-media':
        # Published processors state the tokens of an image.
        settings = json.loads((folder / 'preprocessor_config.json').read_text())
        (folder / 'preprocessor_config.json').write_text(json.dumps(settings | {'image_seq_length': config['vision_soft_tokens_per_image']}))
    if source.parent.name == 'idefics3':
        config['text_config']['architectures'] = ['VLlama3ForCausalLM']
    if source.parent.name == 'internvl':
        config['llm_config']['rms_norm_eps'] = 1e-6
        (folder / 'preprocessor_config.json').write_text(json.dumps(IMAGENET))
    (folder / 'config.json').write_text(json.dumps(config))
    save_file(tensors, folder / 'model.safetensors')
    return config


def published_pages(tensors, config):
    """DeepSeek-OCR has each expert's matrices by themselves, and patches of CLIP, which are not read."""
    found = {}
    for name, value in tensors.items():
        module, _, projection = name.rpartition('.experts.')
        if not module:
            found[name] = value
            continue
        names = ['gate_proj', 'up_proj'] if projection == 'gate_up_proj' else [projection]
        for i, expert in enumerate(value):
            for one, rows in zip(names, expert.chunk(len(names))):
                found[f'{module}.experts.{i}.{one}.weight'] = rows.contiguous()
    width = config['vision_config']['width']['clip-l-14-224']['width']
    found['model.vision_model.embeddings.patch_embedding.weight'] = torch.zeros(width, 3, 14, 14, dtype=torch.float16)
    return found


def vocabulary(folder, size):
    """Returns a method that writes the tokens of tokenizer.json, with unused ones behind them as the converter has them."""
    tokenizer = json.loads((folder / 'tokenizer.json').read_text())
    added = {token['id']: token for token in tokenizer['added_tokens']}
    tokens = {index: token for token, index in tokenizer['model']['vocab'].items()} | {index: token['content'] for index, token in added.items()}
    # Files have at least one merge: it takes the place of a byte, and neither it nor the other one occurs in UTF-8.
    tokens[tokenizer['model']['vocab'][NEVER]] = RARE
    kinds = gguf.TokenType

    def write(model):
        writer = model.gguf_writer
        writer.add_tokenizer_model('gpt2')
        writer.add_tokenizer_pre('gpt-2')
        writer.add_token_list([tokens.get(i, f'[PAD{i}]') for i in range(size)])
        writer.add_token_types(
            [kinds.UNUSED if i not in tokens else kinds.CONTROL if i in added and added[i]['special'] else kinds.NORMAL for i in range(size)]
        )
        assert not tokenizer['model']['merges']
        writer.add_token_merges([' '.join(RARE)])
        gguf.SpecialVocab(folder).add_to_gguf(writer)

    return write


def convert(folder, target, name, kind, own, drawn):
    ftype = gguf.LlamaFileType.MOSTLY_F16 if target.stem.endswith('F16') else gguf.LlamaFileType.ALL_F32
    architecture = get_model_architecture(ModelBase.load_hparams(folder, False), kind)
    model_class = get_model_class(architecture, mmproj=kind == ModelType.MMPROJ)
    # The class for Mistral 3 only chooses another.
    model_class = getattr(model_class, 'Ministral3Model', model_class)
    plain = type(model_class.__name__, (model_class,), {**own, 'model_arch': model_class.model_arch})
    model = plain(folder, ftype, target, model_name=name)
    if kind == ModelType.MMPROJ:
        # Parts of projectors are numbered like layers, of which a tiny tower has fewer.
        model.tensor_map = gguf.get_tensor_name_map(model.model_arch, 16)
        if name == 'gemma3n':
            as_first(model)
        add_settings(model)
    if 'sliding_attention' in model.hparams.get('layer_types', []):
        model.gguf_writer.add_sliding_window_pattern(1 + model.hparams['layer_types'].index('full_attention'))
    model.write()
    keep_gguf(target, drawn)
    print(target.name, target.stat().st_size)


def as_first(model):
    """Files of Gemma 3n are those of the first converter (llama.cpp's pull request 18256); later ones do not know the names of two norms."""
    modify = model.modify_tensors
    for i in range(2):
        norm = gguf.MODEL_TENSOR.A_ENC_CONV1D_NORM, f'a.conv1d.{i}.norm'
        model.tensor_map.mapping[f'model.audio_tower.subsample_conv_projection.conv_{i}.norm'] = norm

    def modified(data, name, bid):
        for new_name, value in modify(data, name, bid):
            yield new_name, value[None, :, None, None] if new_name.endswith('layer_scale.gamma') else value

    model.modify_tensors = modified


def add_settings(model):
    """Settings that no published model of these classes has otherwise, under the keys that the converter has for those of others."""
    writer, size = model.gguf_writer, model.preprocessor_config.get('size', {})
    if 'merge_size' in model.preprocessor_config:
        writer.add_vision_min_pixels(size['shortest_edge'])
        writer.add_vision_max_pixels(size['longest_edge'])
    if 'candidate_resolutions' in model.preprocessor_config:
        writer.add_vision_preproc_image_size(model.preprocessor_config['candidate_resolutions'][0][0])
        # llama.cpp has no key of the size of tiles.
        writer.add_uint32('clip.vision.preproc_tile_size', model.preprocessor_config['tile_size'])
    theta = model.hparams.get('rope_parameters', {}).get('rope_theta', 10000.0)
    window = (model.hparams_vision or {}).get('window_size')
    pooled = (model.hparams_vision or {}).get('pooling_kernel_size', 3)
    if pooled != 3:
        writer.add_vision_projector_scale_factor(pooled)
    if window is not None:
        writer.add_uint32(gguf.Keys.ClipVision.WINDOW_SIZE, window)
    if theta != 10000.0:
        writer.add_rope_freq_base(theta)


def main():
    for name, (source, has_text, names) in MODELS.items():
        if ONLY and name not in ONLY:
            continue
        target = ROOT / name
        shutil.rmtree(target, ignore_errors=True)
        target.mkdir(parents=True)
        with tempfile.TemporaryDirectory() as kept:
            folder = Path(kept)
            config = published(GOLDEN / source, folder, names)
            drawn = drawn_for(GOLDEN / source / 'model.safetensors')
            # The type of the checkpoint's own tensors.
            types = {value.dtype for value in load_file(folder / 'model.safetensors').values() if value.dim() > 1}
            tag = {torch.float16: 'F16', torch.float32: 'F32'}[types.pop()]
            convert(folder, target / f'mmproj-{name}-{tag}.gguf', name, ModelType.MMPROJ, {}, drawn)
            if has_text:
                text = config.get('text_config') or config.get('llm_config') or config.get('language_config') or config
                # Of Gemma the converter keeps the rows of known tokens only.
                size = 264 if name == 'gemma3' else text['vocab_size']
                own = {'set_vocab': vocabulary(folder, size), 'no_mtp': True}
                convert(folder, target / f'{name}-{tag}.gguf', name, ModelType.TEXT, own, drawn)


main()
