"""What transformers makes of clips for the GLM models of ocr.py, whose folders are read:

    python scripts/reference/glm_clips.py        with torchvision

test/golden/ocr/glm-clips.json: for each model conversations about clips that drawn_clips.py draws, with their token ids and
the tokens that greedy decoding yields; for the two processors of these models `choices`, digests of the frames that they choose of many
clips, and `shown`, the text that they put in the place of a clip. scripts/setup/goldens.mjs makes the weights that are read.
"""

import hashlib
import json
from importlib.metadata import version
from pathlib import Path

import torch
import transformers
from transformers.models.glm46v.image_processing_pil_glm46v import Glm46VImageProcessorPil
from transformers.models.glm46v.video_processing_glm46v import Glm46VVideoProcessor
from transformers.models.glm4v.video_processing_glm4v import Glm4vVideoProcessor
from transformers.video_utils import VideoMetadata

from drawn_clips import frames_of
from pictured_turns import greedy_turns

torch.set_num_threads(1)
transformers.utils.logging.disable_progress_bar()
ROOT = Path(__file__).parents[2] / 'test' / 'golden' / 'ocr'
GREEDY, MARGIN = 24, 0.002
# Frames, frames per second, width and height.
CLIPS = {'clip': (7, 4.0, 44, 30), 'narrow': (50, 25.0, 17, 90)}
QUESTIONS = ['What happens?', 'Who?', 'And then?', 'A film.', 'Tell.', 'Where?', 'How long?', 'Seen?', 'So?', 'Why?']
CHOICES = [(frames, fps) for frames in (1, 2, 3, 5, 16, 33, 99, 150, 301, 777, 1500, 4321, 30000) for fps in (1.0, 7.5, 12.0, 23.976, 29.97, 60.0)]
MODELS = {'glm-4v-moe': 'Glm4vMoeForConditionalGeneration', 'glm-ocr': 'GlmOcrForConditionalGeneration'}
CONVERSATIONS = {
    'one': [('user', ['clip', 'QUESTION'])],
    'turns': [('user', ['narrow', 'Tell me.']), ('assistant', ['It rains.']), ('user', ['clip', 'QUESTION'])],
}


def metadata_of(frames, fps):
    return VideoMetadata(total_num_frames=frames, fps=fps, duration=frames / fps)


def choice(video, frames, fps):
    try:
        indices = [int(i) for i in video.sample_frames(metadata_of(frames, fps))]
    except (ValueError, ZeroDivisionError, IndexError):
        return None
    return hashlib.sha256(','.join(map(str, indices)).encode()).hexdigest()[:16] if indices else None


def given(processor, turns):
    parts = [dict(role=role, content=[dict(type='video') if part in CLIPS else dict(type='text', text=part) for part in content]) for role, content in turns]
    clips = [CLIPS[part] for _, content in turns for part in content if part in CLIPS]
    return processor(
        text=[processor.apply_chat_template(parts, tokenize=False, add_generation_prompt=True)],
        videos=[frames_of(count, width, height) for count, _, width, height in clips],
        video_metadata=[metadata_of(count, fps) for count, fps, _, _ in clips],
        do_sample_frames=True,
        return_tensors='pt',
        add_special_tokens=False,
    )


@torch.no_grad()
def conversations(name):
    folder = ROOT / name
    model = getattr(transformers, MODELS[name]).from_pretrained(folder).eval().float()
    processor = transformers.Glm46VProcessor.from_pretrained(folder)
    listed = {}
    for title, turns in CONVERSATIONS.items():
        for question in QUESTIONS:
            asked = [(role, [question if part == 'QUESTION' else part for part in content]) for role, content in turns]
            found, margin = greedy_turns(model, {title: given(processor, asked)}, {title: asked}, GREEDY, MARGIN)
            if found:
                print(name, title, question, round(margin, 4), flush=True)
                listed |= {title: found[title] | dict(margin=round(margin, 4))}
                break
        else:
            raise SystemExit(f'{name}: no question with clear tokens in {title}')
    return listed


def shown(processor_class, videos):
    """What the two processors make of a clip of GLM-OCR's folder."""
    folder = ROOT / 'glm-ocr'
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    settings = json.loads((folder / 'processor_config.json').read_text())['video_processor']
    sized = type(videos)(patch_size=settings['patch_size'], size=settings['size'])
    processor = processor_class(Glm46VImageProcessorPil(), tokenizer, sized)
    count, fps, width, height = CLIPS['narrow']
    out = processor(text=['<|video|>'], videos=[frames_of(count, width, height)], video_metadata=[metadata_of(count, fps)], do_sample_frames=True)
    return tokenizer.decode(out['input_ids'][0])


if __name__ == '__main__':
    pace = {'Glm46V': Glm46VVideoProcessor(), 'Glm4v': Glm4vVideoProcessor()}
    made = dict(
        command='python scripts/reference/glm_clips.py',
        made_with={one: version(one) for one in ('torch', 'torchvision', 'transformers')},
        clips=CLIPS,
        conversations={name: conversations(name) for name in MODELS},
        choices={name: [[*clip, choice(video, *clip)] for clip in CHOICES] for name, video in pace.items()},
        shown={name: shown(getattr(transformers, f'{name}Processor'), video) for name, video in pace.items()},
    )
    (ROOT / 'glm-clips.json').write_text(json.dumps(made) + '\n')
