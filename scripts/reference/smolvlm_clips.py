"""What transformers computes for videos with the checkpoint of SmolVLM that idefics3.py made:

    python scripts/reference/smolvlm_clips.py        with torchvision and num2words

clips.json in test/golden/idefics3: conversations with videos of drawn_clips.py, their token ids and 24 greedy tokens. The settings of
videos are written into the checkpoint's processor_config.json. Of several questions the one whose tokens lead most is taken.
"""

import json
from importlib.metadata import version

import torch
import transformers
from transformers.models.smolvlm.image_processing_pil_smolvlm import SmolVLMImageProcessorPil
from transformers.models.smolvlm.video_processing_smolvlm import SmolVLMVideoProcessor
from transformers.video_utils import VideoMetadata

from drawn_clips import frames_of
from idefics3 import GREEDY, ROOT, ROWS, SIDE, TEMPLATE

FOLDER = ROOT / 'smolvlm'
SAMPLING = dict(fps=2, max_frames=5, video_size=dict(longest_edge=40))
# Frames, frames per second, width and height.
CLIPS = {'short': (11, 7.5, 50, 38), 'long': (700, 23.976, 31, 45), 'square': (100, 12.0, 24, 24)}
QUESTIONS = ['What happens?', 'Describe it.', 'Who is it?', 'Then?', 'Tell me more.', 'How many?', 'a', 'Where is this, please?', 'Why?', 'x y z', 'Is it day?', 'Name it.']
CONVERSATIONS = {
    'one': [('user', ['short', 'QUESTION'])],
    # With videos of different numbers of frames, the prompt would state the largest one for each of them.
    'two': [('user', ['Compare ', 'long', ' and ', 'square', 'QUESTION'])],
    'turns': [('user', ['long', 'Tell me.']), ('assistant', ['It rains.']), ('user', ['QUESTION'])],
}


def inputs_of(processor, turns):
    parts = [dict(role=role, content=[dict(type='video') if part in CLIPS else dict(type='text', text=part) for part in content]) for role, content in turns]
    shown = [CLIPS[part] for _, content in turns for part in content if part in CLIPS]
    text = processor.apply_chat_template(parts, add_generation_prompt=True, tokenize=False)
    metadata = [VideoMetadata(total_num_frames=count, fps=fps, duration=count / fps, width=width, height=height) for count, fps, width, height in shown]
    clips = [frames_of(count, width, height) for count, _, width, height in shown]
    given = processor(text=[text], videos=[clips], video_metadata=metadata, do_sample_frames=True, return_tensors='pt')
    given.pop('video_metadata', None)
    return given


@torch.no_grad()
def greedy(model, given):
    out = model.generate(**given, do_sample=False, max_new_tokens=GREEDY, output_logits=True, return_dict_in_generate=True, eos_token_id=None)
    rows = torch.cat(out.logits)
    best = rows.topk(2).values
    margin = ((best[:, 0] - best[:, 1]) / rows.abs().amax(-1)).min().item()
    return out.sequences[0, given['input_ids'].shape[1] :].tolist(), margin


def main():
    model = transformers.SmolVLMForConditionalGeneration.from_pretrained(FOLDER, dtype=torch.float32).eval()
    videos = SmolVLMVideoProcessor(max_image_size=dict(longest_edge=SIDE), video_sampling=SAMPLING)
    tokenizer = transformers.AutoTokenizer.from_pretrained(FOLDER)
    processor = transformers.SmolVLMProcessor(SmolVLMImageProcessorPil.from_pretrained(FOLDER), tokenizer, videos, image_seq_len=ROWS, chat_template=TEMPLATE)
    path = FOLDER / 'processor_config.json'
    settings = json.loads(path.read_text())
    settings['video_processor'] = json.loads(videos.to_json_string())
    path.write_text(json.dumps(settings, indent=2) + '\n')
    listed = {}
    for name, turns in CONVERSATIONS.items():
        found = []
        for question in QUESTIONS:
            asked = [(role, [question if part == 'QUESTION' else part for part in content]) for role, content in turns]
            given = inputs_of(processor, asked)
            tokens, margin = greedy(model, given)
            found.append((margin, dict(turns=asked, ids=given['input_ids'][0].tolist(), greedy=tokens, margin=round(margin, 4))))
        listed[name] = max(found, key=lambda one: one[0])[1]
        print(name, len(listed[name]['ids']), 'tokens', len(set(listed[name]['greedy'])), 'different, margin', listed[name]['margin'])
    made = {'command': 'python scripts/reference/smolvlm_clips.py', 'made_with': {one: version(one) for one in ('torch', 'torchvision', 'transformers')}}
    (ROOT / 'clips.json').write_text(json.dumps(made | {'clips': CLIPS, 'conversations': listed}) + '\n')


if __name__ == '__main__':
    torch.set_num_threads(1)
    transformers.logging.set_verbosity_error()
    main()
