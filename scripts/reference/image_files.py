"""Judges the names of tensors in image models of one file:  python scripts/reference/image_files.py

test/golden/image-files.json has, for each part of published models, the number of its tensors and the SHA-256 of the sorted lines
"diffusers' name<TAB>original name" (with #row for a part of a fused tensor), as diffusers' own converters rename them. The original names
are listed here as latent-diffusion, generative-models, OpenCLIP, Z-Image, LTX-Video and FLUX.1 number their modules. Those of T5 in GGUF are llama.cpp's, from
its own map of names.
"""

import hashlib
import json
from pathlib import Path
from types import SimpleNamespace

import gguf
import torch
from diffusers.loaders import single_file_utils as files

OUT = Path(__file__).parents[2] / 'test' / 'golden' / 'image-files.json'


def both(name):
    return [f'{name}.weight', f'{name}.bias']


def resblock(name, changes):
    modules = ['in_layers.0', 'in_layers.2', 'emb_layers.1', 'out_layers.0', 'out_layers.3']
    return [key for module in modules + ['skip_connection'] * changes for key in both(f'{name}.{module}')]


def transformer(name, depth):
    keys = [key for module in ('norm', 'proj_in', 'proj_out') for key in both(f'{name}.{module}')]
    for block in (f'{name}.transformer_blocks.{i}' for i in range(depth)):
        for attention in ('attn1', 'attn2'):
            keys += [f'{block}.{attention}.to_{part}.weight' for part in 'qkv'] + both(f'{block}.{attention}.to_out.0')
        modules = ('ff.net.0.proj', 'ff.net.2', 'norm1', 'norm2', 'norm3')
        keys += [key for module in modules for key in both(f'{block}.{module}')]
    return keys


def unet(base, multiples, depths, middle, sized=False):
    """Two residual blocks a level; `depths`: transformer blocks after each, by level."""
    keys = [key for name in ('time_embed.0', 'time_embed.2') for key in both(name)]
    keys += [key for name in ('label_emb.0.0', 'label_emb.0.2') * sized for key in both(name)]
    keys += both('input_blocks.0.0')
    channels, widths, at = base, [base], 1
    for level, multiple in enumerate(multiples):
        for _ in range(2):
            keys += resblock(f'input_blocks.{at}.0', channels != base * multiple)
            channels = base * multiple
            keys += transformer(f'input_blocks.{at}.1', depths[level]) if depths[level] else []
            widths.append(channels)
            at += 1
        if level < len(multiples) - 1:
            keys += both(f'input_blocks.{at}.0.op')
            widths.append(channels)
            at += 1
    keys += resblock('middle_block.0', False) + transformer('middle_block.1', middle) + resblock('middle_block.2', False)
    at = 0
    for level in reversed(range(len(multiples))):
        for layer in range(3):
            keys += resblock(f'output_blocks.{at}.0', channels + widths.pop() != base * multiples[level])
            channels = base * multiples[level]
            keys += transformer(f'output_blocks.{at}.1', depths[level]) if depths[level] else []
            if level > 0 and layer == 2:
                keys += both(f'output_blocks.{at}.{2 if depths[level] else 1}.conv')
            at += 1
    return keys + both('out.0') + both('out.2')


def autoencoder(multiples, quant=True):
    block = ('norm1', 'conv1', 'norm2', 'conv2')
    keys = [key for name in ('quant_conv', 'post_quant_conv') * quant for key in both(name)]
    for side, blocks, along in (('encoder', 2, 'down'), ('decoder', 3, 'up')):
        keys += [key for name in ('conv_in', 'norm_out', 'conv_out') for key in both(f'{side}.{name}')]
        keys += [key for i in (1, 2) for part in block for key in both(f'{side}.mid.block_{i}.{part}')]
        keys += [key for part in ('norm', 'q', 'k', 'v', 'proj_out') for key in both(f'{side}.mid.attn_1.{part}')]
        order = range(len(multiples)) if side == 'encoder' else reversed(range(len(multiples)))
        channels = multiples[0] if side == 'encoder' else multiples[-1]
        for level in order:
            for i in range(blocks):
                name = f'{side}.{along}.{level}.block.{i}'
                changes = channels != multiples[level]
                keys += [key for part in block + ('nin_shortcut',) * changes for key in both(f'{name}.{part}')]
                channels = multiples[level]
            resampled = level < len(multiples) - 1 if side == 'encoder' else level > 0
            keys += both(f'{side}.{along}.{level}.{along}sample.conv') if resampled else []
    return keys


def causal_autoencoder():
    """Wan's autoencoder with widths of 1, 2, 4 and 4 times the base."""

    def residual(name, changes):
        keys = [f'{name}.residual.0.gamma', f'{name}.residual.3.gamma']
        modules = ['residual.2', 'residual.6'] + ['shortcut'] * changes
        return keys + [key for module in modules for key in both(f'{name}.{module}')]

    keys = both('conv1') + both('conv2')
    for side in ('encoder', 'decoder'):
        keys += both(f'{side}.conv1') + both(f'{side}.head.2') + [f'{side}.head.0.gamma', f'{side}.middle.1.norm.gamma']
        keys += both(f'{side}.middle.1.to_qkv') + both(f'{side}.middle.1.proj')
        keys += residual(f'{side}.middle.0', False) + residual(f'{side}.middle.2', False)
    down = [(1, 1), (1, 1), None, (1, 2), (2, 2), None, (2, 4), (4, 4), None, (4, 4), (4, 4)]
    up = [*[(4, 4)] * 3, None, (2, 4), (4, 4), (4, 4), None, *[(2, 2)] * 3, None, *[(1, 1)] * 3]
    for along, blocks, timed in (('encoder.downsamples', down, (5, 8)), ('decoder.upsamples', up, (3, 7))):
        for i, widths in enumerate(blocks):
            keys += residual(f'{along}.{i}', widths[0] != widths[1]) if widths else both(f'{along}.{i}.resample.1')
            keys += both(f'{along}.{i}.time_conv') if i in timed else []
    return keys


def open_clip(layers):
    keys = ['token_embedding.weight', 'positional_embedding', 'text_projection'] + both('ln_final')
    for layer in (f'transformer.resblocks.{i}' for i in range(layers)):
        keys += [f'{layer}.attn.in_proj_weight', f'{layer}.attn.in_proj_bias']
        keys += [key for part in ('ln_1', 'ln_2', 'attn.out_proj', 'mlp.c_fc', 'mlp.c_proj') for key in both(f'{layer}.{part}')]
    return keys


def z_image(layers, refiners, pads=('x_pad_token', 'cap_pad_token'), modulation='adaLN_modulation.0'):
    keys = [*pads, 'norm_final.weight', 'cap_embedder.0.weight'] + both('cap_embedder.1')
    modules = ('x_embedder', 't_embedder.mlp.0', 't_embedder.mlp.2', 'final_layer.linear', 'final_layer.adaLN_modulation.1')
    keys += [key for name in modules for key in both(name)]
    for kind, count in (('layers', layers), ('noise_refiner', refiners), ('context_refiner', refiners)):
        for layer in (f'{kind}.{i}' for i in range(count)):
            names = ('attention.qkv', 'attention.out', 'attention.q_norm', 'attention.k_norm', 'attention_norm1', 'attention_norm2')
            names += ('ffn_norm1', 'ffn_norm2', 'feed_forward.w1', 'feed_forward.w2', 'feed_forward.w3')
            keys += [f'{layer}.{name}.weight' for name in names]
            keys += both(f'{layer}.{modulation}') if kind != 'context_refiner' else []
    return keys


def flux(doubles, singles):
    ends = ('in_layer', 'out_layer')
    keys = [key for name in ('time_in', 'vector_in', 'guidance_in') for end in ends for key in both(f'{name}.{end}')]
    keys += [key for name in ('img_in', 'txt_in', 'final_layer.linear', 'final_layer.adaLN_modulation.1') for key in both(name)]
    for block in (f'double_blocks.{i}' for i in range(doubles)):
        for stream in ('img', 'txt'):
            modules = ('mod.lin', 'attn.qkv', 'attn.proj', 'mlp.0', 'mlp.2')
            keys += [key for module in modules for key in both(f'{block}.{stream}_{module}')]
            keys += [f'{block}.{stream}_attn.norm.{part}_norm.scale' for part in ('query', 'key')]
    for block in (f'single_blocks.{i}' for i in range(singles)):
        keys += [key for module in ('linear1', 'linear2', 'modulation.lin') for key in both(f'{block}.{module}')]
        keys += [f'{block}.norm.{part}_norm.scale' for part in ('query', 'key')]
    return keys


def flux2(doubles, singles):
    keys = [f'{name}.{end}.weight' for name in ('time_in', 'guidance_in') for end in ('in_layer', 'out_layer')]
    keys += [f'{name}.weight' for name in ('img_in', 'txt_in', 'final_layer.linear', 'final_layer.adaLN_modulation.1')]
    keys += [f'{name}.lin.weight' for name in ('double_stream_modulation_img', 'double_stream_modulation_txt', 'single_stream_modulation')]
    for block in (f'double_blocks.{i}' for i in range(doubles)):
        for stream in ('img', 'txt'):
            keys += [f'{block}.{stream}_{module}.weight' for module in ('attn.qkv', 'attn.proj', 'mlp.0', 'mlp.2')]
            keys += [f'{block}.{stream}_attn.norm.{part}_norm.scale' for part in ('query', 'key')]
    for block in (f'single_blocks.{i}' for i in range(singles)):
        keys += [f'{block}.linear1.weight', f'{block}.linear2.weight', f'{block}.norm.query_norm.scale', f'{block}.norm.key_norm.scale']
    return keys


def converted_flux2(stored):
    found = files.convert_flux2_transformer_checkpoint_to_diffusers(stored)
    scale, shift = found.pop('norm_out.linear.weight').chunk(2)  # diffusers lays the scale before the shift
    return found | {'norm_out.scale.weight': scale, 'norm_out.shift.weight': shift}


def chroma(doubles, singles, layers):
    network = 'distilled_guidance_layer'
    left = ('_mod.', '.modulation.', 'time_in', 'vector_in', 'guidance_in', 'adaLN_modulation')
    keys = [key for key in flux(doubles, singles) if not any(part in key for part in left)]
    keys += [key for module in ('in_proj', 'out_proj') for key in both(f'{network}.{module}')]
    keys += [key for i in range(layers) for end in ('in_layer', 'out_layer') for key in both(f'{network}.layers.{i}.{end}')]
    return keys + [f'{network}.norms.{i}.scale' for i in range(layers)]


def ltx(layers):
    modules = ('patchify_proj', 'proj_out', 'adaln_single.linear', 'caption_projection.linear_1', 'caption_projection.linear_2')
    modules += tuple(f'adaln_single.emb.timestep_embedder.linear_{i}' for i in (1, 2))
    keys = ['scale_shift_table'] + [key for name in modules for key in both(name)]
    for block in (f'transformer_blocks.{i}' for i in range(layers)):
        keys += [f'{block}.scale_shift_table'] + both(f'{block}.ff.net.0.proj') + both(f'{block}.ff.net.2')
        for attention in (f'{block}.attn1', f'{block}.attn2'):
            keys += [key for part in ('to_q', 'to_k', 'to_v', 'to_out.0') for key in both(f'{attention}.{part}')]
            keys += [f'{attention}.q_norm.weight', f'{attention}.k_norm.weight']
    return keys


def ltx_autoencoder(encoder, decoder, timed=False):
    """Blocks in their order: a number of residual ones, 'wider', 'convolved' or 'moved'."""

    def residual(name):
        return both(f'{name}.conv1.conv') + both(f'{name}.conv2.conv')

    keys = [f'per_channel_statistics.{name}' for name in ('mean-of-means', 'std-of-means', 'mean-of-stds', 'channel')]
    for side, along, blocks in (('encoder', 'down', encoder), ('decoder', 'up', decoder)):
        keys += both(f'{side}.conv_in.conv') + both(f'{side}.conv_out.conv')
        embeds = timed and side == 'decoder'
        for i, kind in enumerate(blocks):
            name = f'{side}.{along}_blocks.{i}'
            if kind == 'wider':
                keys += residual(name) + both(f'{name}.conv_shortcut') + both(f'{name}.norm3.norm')
            elif kind in ('convolved', 'moved'):
                keys += both(f'{name}.conv' if kind == 'convolved' else f'{name}.conv.conv')
            else:
                keys += [key for j in range(kind) for key in residual(f'{name}.res_blocks.{j}')]
                keys += [f'{name}.res_blocks.{j}.scale_shift_table' for j in range(kind * embeds)]
                keys += [key for j in (1, 2) * embeds for key in both(f'{name}.time_embedder.timestep_embedder.linear_{j}')]
    last = [key for i in (1, 2) for key in both(f'decoder.last_time_embedder.timestep_embedder.linear_{i}')]
    return keys + ['decoder.last_scale_shift_table', *last] * timed


def judged_ltx_autoencoder(keys, columns):
    def convert(stored):
        stored['vae.encoder.conv_out.conv.weight'] = stored['vae.encoder.conv_out.conv.weight'].expand(1, columns, 1, 1)
        return files.convert_ltx_vae_checkpoint_to_diffusers(stored)

    return judged(keys, 'vae.', convert)


LTX_ENCODER = [4, 'convolved', 'wider', 3, 'convolved', 'wider', 3, 'convolved', 3, 4]
LTX_DECODER = [4, 3, 'moved', 3, 'wider', 'moved', 3, 'wider', 'moved', 4]
LTX_LATER = [4, 'moved', 6, 'moved', 6, 'moved', 2, 'moved', 2]
LTX_TIMED = [5, 'moved', 5, 'moved', 5, 'moved', 5]


def converted_flux(stored):
    found = files.convert_flux_transformer_checkpoint_to_diffusers(stored)
    for kind in ('weight', 'bias'):  # diffusers lays the scale before the shift
        scale, shift = found.pop(f'norm_out.linear.{kind}').chunk(2)
        found |= {f'norm_out.scale.{kind}': scale, f'norm_out.shift.{kind}': shift}
    return found


def judged_t5(layers):
    """Names of llama.cpp, as its converter gives them."""
    names = gguf.get_tensor_name_map(gguf.MODEL_ARCH.T5ENCODER, layers)
    block = [f'layer.0.SelfAttention.{part}' for part in 'qkvo'] + [f'layer.1.DenseReluDense.{part}' for part in ('wi_0', 'wi_1', 'wo')]
    own = [f'encoder.block.{i}.{module}' for i in range(layers) for module in [*block, 'layer.0.layer_norm', 'layer.1.layer_norm']]
    own += ['shared', 'encoder.final_layer_norm', 'encoder.block.0.layer.0.SelfAttention.relative_attention_bias']
    lines = [f'{name}.weight\t{names.get_name(name)}.weight' for name in own]
    return {'tensors': len(lines), 'sha256': hashlib.sha256('\n'.join(sorted(lines)).encode()).hexdigest()}


def judged(keys, prefix, convert, shape=(1, 1, 1, 1)):
    """Each tensor holds its number and, where it has several rows, theirs."""
    rows = shape[0]
    stored = {
        prefix + key: torch.arange(rows, dtype=torch.float64).reshape(shape) + rows * i for i, key in enumerate(keys)
    }
    lines = []
    for name, tensor in convert(dict(stored)).items():
        if tensor is None:
            continue
        first = int(tensor.flatten()[0])
        part = f'#{first % rows / tensor.numel():g}' if tensor.numel() < rows and name != 'text_projection.weight' else ''
        lines.append(f'{name}\t{keys[first // rows]}{part}')
    text = '\n'.join(sorted(lines))
    return {'tensors': len(lines), 'sha256': hashlib.sha256(text.encode()).hexdigest()}


def judged_unet(keys, sized=False):
    config = {'layers_per_block': 2, 'addition_embed_type': 'text_time' if sized else None}
    return judged(keys, 'model.diffusion_model.', lambda stored: files.convert_ldm_unet_checkpoint(stored, config))


def judged_autoencoder(multiples, quant, prefix):
    config = {'down_block_types': multiples, 'up_block_types': multiples}
    keys = autoencoder(multiples, quant)
    return judged(keys, prefix, lambda stored: files.convert_ldm_vae_checkpoint(stored, config))


def judged_clip(layers, prefix, ran):
    model = SimpleNamespace(config=SimpleNamespace(hidden_size=1))

    def convert(stored):
        stored[f'{prefix}text_projection'] = stored[f'{prefix}text_projection'][:1]
        found = files.convert_open_clip_checkpoint(model, stored, prefix)
        return {name: tensor for name, tensor in found.items() if ran or name != 'text_projection.weight'}

    return judged(open_clip(layers), prefix, convert, (3, 1))


OUT.write_text(
    json.dumps(
        {
            'sd1-unet': judged_unet(unet(320, [1, 2, 4, 4], [1, 1, 1, 0], 1)),
            'sdxl-unet': judged_unet(unet(320, [1, 2, 4], [0, 2, 10], 10, True), True),
            'refiner-unet': judged_unet(unet(384, [1, 2, 4, 4], [0, 4, 4, 0], 4, True), True),
            'sd-vae': judged_autoencoder([1, 2, 4, 4], True, 'first_stage_model.'),
            'flux-vae': judged_autoencoder([1, 2, 4, 4], False, 'vae.'),
            'qwen-vae': judged(causal_autoencoder(), '', files.convert_wan_vae_to_diffusers),
            'sd2-text': judged_clip(24, 'cond_stage_model.model.', False),
            'sdxl-text-2': judged_clip(32, 'conditioner.embedders.1.model.', True),
            'flux': judged(flux(19, 38), 'model.diffusion_model.', converted_flux, (7 * 3072, 1)),
            'flux2': judged(flux2(8, 48), '', converted_flux2, (6, 1)),
            'chroma': judged(chroma(19, 38, 5), 'model.diffusion_model.', files.convert_chroma_transformer_checkpoint_to_diffusers, (7 * 3072, 1)),
            't5': judged_t5(24),
            'z-image': judged(z_image(30, 2), 'model.diffusion_model.', files.convert_z_image_transformer_checkpoint_to_diffusers, (3, 1)),
            'ltx': judged(ltx(28), 'model.diffusion_model.', files.convert_ltx_transformer_checkpoint_to_diffusers),
            'ltx-vae': judged_ltx_autoencoder(ltx_autoencoder(LTX_ENCODER, LTX_DECODER), 512),
            'ltx-vae-timed': judged_ltx_autoencoder(ltx_autoencoder(LTX_LATER, LTX_TIMED, timed=True), 2048),
            'lumina2': judged(z_image(26, 2, (), 'adaLN_modulation.1'), '', files.convert_lumina2_to_diffusers, (3840, 1)),
        },
        indent=2,
    )
    + '\n'
)
