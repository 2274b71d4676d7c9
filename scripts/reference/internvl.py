"""Makes tiny InternVL checkpoints and what transformers computes with them:

    python scripts/reference/internvl.py        with torchvision, for transformers' processor of videos

test/golden/internvl/<name>/ is a checkpoint of InternVLForConditionalGeneration with random weights in f32, its tokenizer and its processor;
<name>-original/ holds the same weights in the layout of InternVLChatModel, by the key map that is published with InternVL.
towers.safetensors: for each case of TOWERS its pixels, the states behind the tower and the rows for the language model.
images.json: odd images as files, and in images.safetensors the bytes of the tiles that transformers' processor makes of them; of the images of
media-images.json the digests of those bytes.
<name>.json: conversations with images, their token ids, and the tokens that greedy decoding yields.
"""

import base64
import hashlib
import io
import json
import zlib
from importlib.metadata import version

import numpy
import torch
import transformers
from PIL import Image, ImageOps
from safetensors.torch import save_file
from transformers.models.got_ocr2.image_processing_pil_got_ocr2 import GotOcr2ImageProcessorPil
from transformers.models.internvl.video_processing_internvl import InternVLVideoProcessor

from internvl_checkpoints import PROCESSOR, ROOT, SIDE, checkpoint
from recipe import Draws, keep

torch.set_num_threads(1)
transformers.utils.logging.disable_progress_bar()
GREEDY = 24


def towers(models):
    """Whole towers; of another size than the table of positions; the states before the last layer."""
    tensors, draws = {}, Draws(5)
    cases = {'qwen2': ('qwen2', SIDE, 5, -1), 'qwen3': ('qwen3', SIDE, 2, -1), 'interpolated': ('qwen2', 36, 1, -1), 'before-last': ('qwen3', SIDE, 1, -2)}
    for case, (name, side, tiles, layer) in cases.items():
        pixels = draws(f'{case}.pixels', (tiles, 3, side, side), 1)
        model = models[name].model
        out = model.get_image_features(pixels, vision_feature_layer=layer)
        exact = model.double().get_image_features(pixels.double(), vision_feature_layer=layer)
        model.float()
        error = (out.pooler_output - exact.pooler_output).abs().max() / exact.pooler_output.abs().max()
        print(f'{case:14} f32 from f64 {error:.1e}, std {out.pooler_output.std():.2f}')
        tensors |= {f'{case}.pixels': pixels, f'{case}.rows': out.pooler_output}
    save_file({name: tensor.contiguous() for name, tensor in tensors.items()}, ROOT / 'towers.safetensors')
    keep(ROOT / 'towers.safetensors', draws, pool=ROOT / 'outputs.safetensors')


def picture(width, height, seed):
    """Waves of colours with noise: something at every scale."""
    draws = numpy.random.default_rng(seed)
    y, x = numpy.mgrid[0:height, 0:width] / max(width, height)
    waves = [127 + 90 * numpy.sin(2 * numpy.pi * (fx * x + fy * y)) for fx, fy in draws.uniform(-4, 4, (3, 2))]
    noise = draws.normal(0, 18, (height, width, 3))
    return Image.fromarray((numpy.stack(waves, -1) + noise).clip(0, 255).astype(numpy.uint8))


def saved(image, **options):
    file = io.BytesIO()
    image.save(file, 'PNG', **options)
    return file.getvalue()


def turned(image):
    exif = Image.Exif()
    exif[0x0112] = 6
    return saved(image, exif=exif)


def transparent(image):
    alpha = Image.linear_gradient('L').resize(image.size)
    return saved(Image.merge('RGBA', (*image.split(), alpha)))


# name: file, limits of tiles
IMAGES = {
    'one-pixel-wide': (saved(picture(1, 50, 1)), {}),
    'one-pixel': (saved(picture(1, 1, 2)), {}),
    'four-to-one': (saved(picture(60, 15, 3)), {}),
    'nearly-square': (saved(picture(49, 47, 4)), {}),
    'palette': (saved(picture(37, 22, 5).quantize(16)), {}),
    'grey': (saved(picture(19, 41, 6).convert('L')), {}),
    'exif-turned': (turned(picture(44, 17, 7)), {}),
    'alpha': (transparent(picture(23, 31, 8)), {}),
    'one-tile': (saved(picture(40, 30, 9)), {'max_patches': 1}),
    'at-most-3': (saved(picture(70, 25, 10)), {'max_patches': 3}),
    'at-least-5': (saved(picture(20, 20, 11)), {'min_patches': 5}),
    'tie': (saved(picture(60, 48, 12)), {'min_patches': 2, 'max_patches': 2}),
    'large': (saved(picture(96, 96, 13)), {'max_patches': 6}),
}


def opened(file):
    return ImageOps.exif_transpose(Image.open(io.BytesIO(file)))


def images():
    processor = GotOcr2ImageProcessorPil(**PROCESSOR)
    mean, std = (torch.tensor(PROCESSOR[key]).view(3, 1, 1) for key in ('image_mean', 'image_std'))
    listed, tensors = {}, {}
    for name, (file, limits) in IMAGES.items():
        out = processor(opened(file), crop_to_patches=True, return_tensors='pt', **limits)
        pixels = out['pixel_values']
        whole = ((pixels * std + mean) * 255).round()
        assert ((whole / 255 - mean) / std - pixels).abs().max() < 1e-5
        listed[name] = {'file': base64.b64encode(file).decode(), 'limits': limits, 'tiles': int(out['num_patches'][0])}
        tensors[name] = whole.byte().contiguous()
        if name == 'nearly-square':
            tensors[f'{name}.values'] = pixels[:2].contiguous()
    save_file(tensors | videos(), ROOT / 'images.safetensors')
    return listed


def media_images():
    """Of the images of test/golden/media-images.json: the tiles, and a digest of their bytes."""
    processor = GotOcr2ImageProcessorPil(**PROCESSOR)
    mean, std = (torch.tensor(PROCESSOR[key]).view(3, 1, 1) for key in ('image_mean', 'image_std'))
    listed = {}
    for case in json.loads((ROOT.parent / 'media-images.json').read_text()):
        if 'rgb' not in case:
            continue
        (width, height), rgb = case['size'], zlib.decompress(base64.b64decode(case['rgb']))
        image = Image.frombytes('RGB', (width, height), rgb)
        out = processor(image, crop_to_patches=True, return_tensors='pt', input_data_format='channels_last')
        whole = ((out['pixel_values'] * std + mean) * 255).round().byte()
        listed[case['name']] = {'tiles': int(out['num_patches'][0]), 'sha256': hashlib.sha256(whole.numpy().tobytes()).hexdigest()}
    return listed


def frames():
    """Indices of the frames that transformers samples: (frames, frames a second, settings)."""
    cases = (
        (1, 30.0, dict(num_frames=1)), (7, 25.0, dict(num_frames=3)), (31, 30.0, dict(num_frames=8)), (90, 30.0, dict(num_frames=32)),
        (300, 29.97, dict(num_frames=32)), (1001, 24.0, dict(num_frames=32)), (32, 30.0, dict(num_frames=32)), (95, 30.0, dict(fps=2.0)),
        (301, 23.976, dict(fps=1.5)), (64, 30.0, dict(num_frames=8, initial_shift=False)), (61, 30.0, dict(num_frames=7, initial_shift=3.5)),
    )
    chosen = []
    for total, fps, settings in cases:
        metadata = transformers.video_utils.VideoMetadata(total_num_frames=total, fps=fps)
        # Numbers of frames are arguments, because the processor has no default for them.
        given = {key: value for key, value in settings.items() if key != 'initial_shift'}
        processor = InternVLVideoProcessor(**PROCESSOR, **{key: value for key, value in settings.items() if key == 'initial_shift'})
        chosen.append({'frames': total, 'fps': fps, 'settings': settings, 'indices': processor.sample_frames(metadata, **given).tolist()})
    return chosen


CONVERSATIONS = {
    'one': [('user', ['exif-turned', 'Look here.'])],
    'two': [('user', ['palette', 'alpha', 'What differs?'])],
    'turns': [('user', ['four-to-one', 'A?']), ('assistant', ['So.']), ('user', ['one-pixel-wide', 'B?'])],
    'text': [('user', ['No picture.'])],
    'video': [('user', ['video', 'palette', 'What moves?'])],
}
LIMITS = {'one': {}, 'two': {'max_patches': 3}, 'turns': {'min_patches': 2, 'max_patches': 4}, 'text': {}, 'video': {}}


def part_of(part):
    return dict(type='image') if part in IMAGES else dict(type='video') if part == 'video' else dict(type='text', text=part)


def video(width, height, count):
    return numpy.stack([numpy.asarray(picture(width, height, 20 + i)) for i in range(count)])


def videos():
    """Frames of an odd size and those of conversations, and the bytes of the tiles that transformers' processor makes of the former."""
    frames = video(31, 45, 3)
    mean, std = (torch.tensor(PROCESSOR[key]).view(3, 1, 1) for key in ('image_mean', 'image_std'))
    out = InternVLVideoProcessor(**PROCESSOR)([frames], return_tensors='pt')['pixel_values_videos'][0]
    tiles = ((out * std + mean) * 255).round().byte()
    return {'video': torch.from_numpy(frames), 'video.tiles': tiles.contiguous(), 'video.small': torch.from_numpy(video(SIDE, SIDE, 3))}


def conversations(model, processor):
    listed = {}
    for name, turns in CONVERSATIONS.items():
        parts = [dict(role=role, content=[part_of(part) for part in content]) for role, content in turns]
        text = processor.apply_chat_template(parts, add_generation_prompt=True, tokenize=False)
        shown = [opened(IMAGES[part][0]) for _, content in turns for part in content if part in IMAGES]
        videos = {'videos': [video(SIDE, SIDE, 3)]} if name == 'video' else {}
        inputs = processor(text=text, images=shown or None, return_tensors='pt', **videos, **LIMITS[name])
        inputs.pop('token_type_ids', None)
        out = model.generate(**inputs, do_sample=False, max_new_tokens=GREEDY, output_logits=True, return_dict_in_generate=True, eos_token_id=None)
        prompt = inputs['input_ids'][0]
        tokens = out.sequences[0, prompt.numel() :]
        rows = torch.cat(out.logits)
        best = rows.topk(2).values
        margin = ((best[:, 0] - best[:, 1]) / rows.abs().amax(-1)).min().item()
        print(f'{name:8} {prompt.numel()} tokens, {len(set(tokens.tolist()))} different of {GREEDY}, narrowest margin {margin:.4f}')
        listed[name] = dict(turns=turns, limits=LIMITS[name], ids=prompt.tolist(), greedy=tokens.tolist(), margin=round(margin, 4))
    return listed


@torch.no_grad()
def main():
    ROOT.mkdir(parents=True, exist_ok=True)
    made = {'command': 'python scripts/reference/internvl.py', 'made_with': {name: version(name) for name in ('torch', 'transformers', 'pillow')}}
    (ROOT / 'images.json').write_text(json.dumps(made | {'images': images(), 'media_images': media_images(), 'frames': frames()}, indent=2) + '\n')
    models = {}
    for name, seed in (('qwen2', 3), ('qwen3', 61)):
        models[name], processor = checkpoint(name, seed)
        document = made | {'conversations': conversations(models[name], processor)}
        (ROOT / f'{name}.json').write_text(json.dumps(document, indent=2) + '\n')
    towers(models)


if __name__ == '__main__':
    main()
