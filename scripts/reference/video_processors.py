"""What transformers' processors of videos make of clips that a formula draws:

    python scripts/reference/video_processors.py        with torchvision and num2words

test/golden/video-processors.json: for each processor its settings and, for each clip, the chosen frames, the prompt with runs of tokens as
their number in braces, the grid or the number of tiles, and bytes of which values were made, at every STEP-th place of all of them in turns. null:
the processor refuses the clip. `choices`: digests of the chosen frames of many more clips.
"""

import base64
import hashlib
import json
import re
from importlib.metadata import version
from pathlib import Path

import numpy
import torch
import transformers
from num2words import num2words
from transformers.models.got_ocr2.image_processing_pil_got_ocr2 import GotOcr2ImageProcessorPil
from transformers.models.internvl.video_processing_internvl import InternVLVideoProcessor
from transformers.models.qwen2_vl.image_processing_pil_qwen2_vl import Qwen2VLImageProcessorPil
from transformers.models.qwen2_vl.video_processing_qwen2_vl import Qwen2VLVideoProcessor
from transformers.models.qwen3_vl.video_processing_qwen3_vl import Qwen3VLVideoProcessor
from transformers.models.smolvlm.image_processing_pil_smolvlm import SmolVLMImageProcessorPil
from transformers.models.smolvlm.video_processing_smolvlm import SmolVLMVideoProcessor
from transformers.video_utils import VideoMetadata

from drawn_clips import frames_of

ROOT = Path(__file__).parents[2] / 'test' / 'golden'
SAMPLES, STEP = 600, 1_000_003
# Frames, frames per second, width and height.
CLIPS = {
    'one frame': (1, 30.0, 50, 38),
    'two frames': (2, 2.0, 40, 30),
    'three frames': (3, 12.0, 31, 45),
    'seven and a half': (11, 7.5, 40, 30),
    'twelve': (49, 12.0, 64, 48),
    'film': (100, 23.976, 36, 90),
    'sixty': (241, 60.0, 77, 29),
    'television': (1000, 29.97, 24, 16),
    'long': (5000, 23.976, 16, 20),
    'hours': (9001, 1.25, 12, 12),
    'tiny': (9, 25.0, 5, 3),
    'narrow': (8, 4.0, 4, 120),
    'large': (6, 30.0, 640, 360),
    'odd': (21, 15.0, 101, 37),
    'as large as a tile': (10, 10.0, 24, 24),
    'too narrow': (4, 2.0, 402, 2),
}
FEW = ('two frames', 'seven and a half', 'tiny', 'large')
CHOICES = [(frames, fps) for frames in (1, 2, 3, 4, 5, 7, 15, 16, 33, 50, 99, 150, 301, 777, 1500, 4321, 30000) for fps in (1.0, 7.5, 12.0, 23.976, 25.0, 29.97, 60.0)]
SMALL = dict(patch_size=6, temporal_patch_size=2, merge_size=2)
QWEN2 = dict(image_mean=[0.48145466, 0.4578275, 0.40821073], image_std=[0.26862954, 0.26130258, 0.27577711])
HALVES = dict(image_mean=[0.5] * 3, image_std=[0.5] * 3)
IMAGENET = dict(image_mean=[0.485, 0.456, 0.406], image_std=[0.229, 0.224, 0.225])


def tokenizer(folder):
    return transformers.AutoTokenizer.from_pretrained(ROOT / folder)


def qwen(folder, processor_class, video_class, **settings):
    words, images = tokenizer(folder), Qwen2VLImageProcessorPil.from_pretrained(ROOT / folder)
    processor = processor_class(image_processor=images, tokenizer=words, video_processor=video_class(fps=2, cap_pixels_per_frame=settings.pop('cap_pixels_per_frame', False), **settings), chat_template=words.chat_template)
    return processor, '<|video_pad|>', '<|video_pad|>'


def internvl(folder='internvl/qwen2', **settings):
    images = GotOcr2ImageProcessorPil.from_pretrained(ROOT / folder)
    processor = transformers.InternVLProcessor(images, tokenizer(folder), InternVLVideoProcessor(size=dict(height=24, width=24), **IMAGENET, **settings), image_seq_length=4)
    return processor, '<video>', '<IMG_CONTEXT>'


def smolvlm(folder='idefics3/smolvlm', rows=4, **settings):
    images = SmolVLMImageProcessorPil.from_pretrained(ROOT / folder)
    processor = transformers.SmolVLMProcessor(images, tokenizer(folder), SmolVLMVideoProcessor(**settings), image_seq_len=rows)
    return processor, '<video>', '<image>'


FRAME = dict(shortest_edge=12 * 12 * 4, longest_edge=12 * 12 * 12)
ALL_FRAMES = dict(FRAME, longest_edge=12 * 12 * 12 * 8)
Q2, Q25, Q3 = ((getattr(transformers, f'{name}Processor'), video) for name, video in (('Qwen2VL', Qwen2VLVideoProcessor), ('Qwen2_5_VL', Qwen2VLVideoProcessor), ('Qwen3VL', Qwen3VLVideoProcessor)))  # fmt: skip
# Name: checkpoint of the test, clips, processor.
PROCESSORS = {
    'qwen2-vl': ('media/qwen2-vl', FEW, qwen('media/qwen2-vl', *Q2, patch_size=14, size=dict(shortest_edge=128 * 28 * 28, longest_edge=768 * 28 * 28), **QWEN2)),
    'qwen2-5-vl': ('media/qwen2-5-vl', CLIPS, qwen('media/qwen2-5-vl', *Q25, max_frames=25, size=FRAME, **SMALL, **QWEN2)),
    'qwen2-5-vl capped': ('media/qwen2-5-vl', CLIPS, qwen('media/qwen2-5-vl', *Q25, max_frames=20, max_video_tokens=48, cap_pixels_per_frame=True, size=FRAME, **SMALL, **QWEN2)),
    'qwen3-vl': ('media/qwen3-vl', CLIPS, qwen('media/qwen3-vl', *Q3, max_frames=25, size=ALL_FRAMES, **SMALL, **HALVES)),
    'qwen3-vl capped': ('media/qwen3-vl', CLIPS, qwen('media/qwen3-vl', *Q3, max_frames=20, max_video_tokens=6, cap_pixels_per_frame=True, size=ALL_FRAMES, **SMALL, **HALVES)),
    'qwen3-5': ('media/qwen3-5', FEW, qwen('media/qwen3-5', *Q3, patch_size=16, size=dict(shortest_edge=4096, longest_edge=25165824), **HALVES)),
    'internvl': ('internvl/qwen2', CLIPS, internvl(num_frames=7)),
    'internvl by rate': ('internvl/qwen2', FEW, internvl(fps=1.5)),
    'smolvlm': ('idefics3/smolvlm', CLIPS, smolvlm(size=dict(longest_edge=43), max_image_size=dict(longest_edge=24), video_sampling=dict(fps=1.5, max_frames=9, video_size=dict(longest_edge=43)))),
    'smolvlm larger': ('idefics3/smolvlm', FEW, smolvlm(rows=64, size=dict(longest_edge=120), max_image_size=dict(longest_edge=96), fps=2, num_frames=4)),
}  # fmt: skip


def bytes_of(pixels, video):
    mean, std = (torch.tensor(getattr(video, f'image_{key}'), dtype=torch.float64) for key in ('mean', 'std'))
    if pixels.dim() == 2:
        mean, std = (one.repeat_interleave(pixels.shape[1] // 3) for one in (mean, std))
    else:
        mean, std = (one.view(3, 1, 1) for one in (mean, std))
    whole = (pixels.double() * std + mean) * 255
    assert (whole - whole.round()).abs().max() < 1e-2
    return whole.round().to(torch.uint8).flatten().numpy()


def sampled(values):
    places = numpy.arange(min(SAMPLES, len(values)), dtype=numpy.int64) * STEP % len(values)
    return base64.b64encode(values[places].tobytes()).decode()


def seen(clip, processor, placeholder, token):
    count, fps, width, height = clip
    video = processor.video_processor
    metadata = VideoMetadata(total_num_frames=count, fps=fps, duration=count / fps, width=width, height=height)
    chosen, sample = [], type(video).sample_frames
    # Not all processors tell the frames that they chose.
    video.sample_frames = lambda **settings: chosen.append(sample(video, **settings)) or chosen[-1]
    named = {key: getattr(video, key) for key in ('num_frames', 'fps') if isinstance(video, InternVLVideoProcessor) and getattr(video, key, None)}
    try:
        given = processor(text=[placeholder], videos=[frames_of(count, width, height)], video_metadata=[metadata], do_sample_frames=True,
                          return_tensors='pt', return_metadata=True, **named)  # fmt: skip
    except (ValueError, ZeroDivisionError) as error:
        return None, f'{type(error).__name__}: {error}'
    text = processor.tokenizer.decode(given['input_ids'][0], skip_special_tokens=False, clean_up_tokenization_spaces=False)
    text = re.sub(f'({re.escape(token)})+', lambda run: f'{{{len(run[0]) // len(token)}}}', text)
    pixels = given['pixel_values_videos'] if 'pixel_values_videos' in given else given['pixel_values']
    pixels = pixels if pixels.dim() == 2 else pixels.reshape(-1, *pixels.shape[-3:])
    values = bytes_of(pixels, video)
    found = dict(indices=[int(i) for i in chosen[-1]], text=text, values=len(values), bytes=sampled(values))
    if 'video_grid_thw' in given:
        found['grid'] = given['video_grid_thw'][0].tolist()
    if 'second_per_grid_ts' in given:
        found['times'] = times_of(given)
    return found, None


def times_of(given):
    """Positions in time of the steps, from the first one on."""
    model = getattr(times_of, 'model', None) or transformers.Qwen2_5_VLForConditionalGeneration.from_pretrained(ROOT / 'media/qwen2-5-vl')
    times_of.model = model
    extra = {key: given[key] for key in ('mm_token_type_ids',) if key in given}
    seconds = torch.as_tensor(given['second_per_grid_ts'])
    places, _ = model.model.get_rope_index(given['input_ids'], video_grid_thw=given['video_grid_thw'], second_per_grid_ts=seconds, **extra)
    shown = (given['input_ids'][0] == model.config.video_token_id).nonzero().flatten()
    steps = int(given['video_grid_thw'][0, 0])
    times = places[0, 0, shown[:: len(shown) // steps]]
    return (times - times[0]).tolist()


def choice(name, frames, fps, video):
    metadata = VideoMetadata(total_num_frames=frames, fps=fps, duration=frames / fps)
    try:
        indices = [int(i) for i in video.sample_frames(metadata, fps=None if name == 'internvl' else video.fps, num_frames=None if name.startswith('qwen') else video.num_frames)]  # fmt: skip
    except (ValueError, ZeroDivisionError):
        return None
    # A rounded step makes torch count one more than there are, which then fails.
    return hashlib.sha256(','.join(map(str, indices)).encode()).hexdigest()[:16] if indices[-1] < frames else None


def choices():
    videos = {
        'qwen2-5-vl': Qwen2VLVideoProcessor(fps=2),
        'qwen3-vl': Qwen3VLVideoProcessor(fps=2),
        'internvl': InternVLVideoProcessor(num_frames=32),
        'smolvlm': SmolVLMVideoProcessor(fps=1, num_frames=64),
    }
    return {name: [[frames, fps, choice(name, frames, fps, video)] for frames, fps in CHOICES] for name, video in videos.items()}


def settings_of(video):
    keys = ('size', 'patch_size', 'temporal_patch_size', 'merge_size', 'min_frames', 'max_frames', 'fps', 'num_frames', 'image_mean', 'image_std',
            'cap_pixels_per_frame', 'max_video_tokens', 'max_image_size', 'video_sampling')  # fmt: skip
    known = video.to_dict()
    return {key: known[key] for key in keys if known.get(key) is not None and key in known}


def main():
    listed = {}
    for name, (checkpoint, clips, form) in PROCESSORS.items():
        found = {}
        for title in clips:
            found[title], problem = seen(CLIPS[title], *form)
            if problem:
                print(f'{name}, {title}: {problem}')
        listed[name] = dict(checkpoint=checkpoint, settings=settings_of(form[0].video_processor), clips=found)
    made = {'command': 'python scripts/reference/video_processors.py', 'made_with': {name: version(name) for name in ('torch', 'torchvision', 'transformers')}}
    words = {number: num2words(number) for number in (*range(130), 200, 342, 999, 1000, 1001, 1100, 1101, 20_000, 110_017, 999_999)}
    document = made | {'clips': CLIPS, 'processors': listed, 'choices': choices(), 'words': words}
    text = re.sub(r'\[\s+([^\[\]{}]*?)\s+\]', lambda found: f'[{re.sub(chr(92) + "s+", " ", found[1])}]', json.dumps(document, indent=1))
    (ROOT / 'video-processors.json').write_text(text + '\n')


if __name__ == '__main__':
    torch.set_num_threads(1)
    transformers.logging.set_verbosity_error()
    main()
