"""What transformers computes for a video, with the checkpoints that media.py made:

    python scripts/reference/media_clips.py [NAME…]        needs torchvision, whose resizing the processors of videos use

clip.json in test/golden/media/<name> has the prompt, its ids, 24 greedy tokens and the frames that the processor chose; clip.safetensors the
video's frames, the values of the patches and the rows of the tower. Of several questions the one whose tokens lead most is taken.
"""

import json
import sys
from pathlib import Path

import torch
import transformers
from safetensors.torch import save_file
from transformers.models.qwen2_vl.image_processing_pil_qwen2_vl import Qwen2VLImageProcessorPil
from transformers.models.qwen2_vl.video_processing_qwen2_vl import Qwen2VLVideoProcessor
from transformers.models.qwen3_vl.video_processing_qwen3_vl import Qwen3VLVideoProcessor
from transformers.video_utils import VideoMetadata

from media_cases import picture
from recipe import Draws, keep

ROOT = Path(__file__).parents[2] / 'test' / 'golden' / 'media'
GREEDY = 24
FRAMES, FPS, WIDTH, HEIGHT = 11, 4.0, 40, 30
SHOWN, VIDEO = '<|vision_start|><|video_pad|><|vision_end|>', '<|video_pad|>'
QUESTIONS = ['What happens?', 'Describe the clip.', 'Who is it?', 'Then?', 'Tell me more.', 'How many?', 'a', 'Where is this, please?']
SIZE = dict(shortest_edge=12 * 12 * 4, longest_edge=12 * 12 * 12)
FORMS = {
    'qwen2-vl': (transformers.Qwen2VLProcessor, Qwen2VLVideoProcessor),
    'qwen2-5-vl': (transformers.Qwen2_5_VLProcessor, Qwen2VLVideoProcessor),
    'qwen3-vl': (transformers.Qwen3VLProcessor, Qwen3VLVideoProcessor),
    'qwen3-5': (transformers.Qwen3VLProcessor, Qwen3VLVideoProcessor),
}


def make(name):
    folder = ROOT / name
    processor_class, video_class = FORMS[name]
    config = json.loads((folder / 'config.json').read_text())
    model = getattr(transformers, config['architectures'][0]).from_pretrained(folder, dtype=torch.float32).eval()
    words = transformers.AutoTokenizer.from_pretrained(folder)
    images = Qwen2VLImageProcessorPil.from_pretrained(folder)
    settings = dict(patch_size=6, temporal_patch_size=2, merge_size=2, image_mean=images.image_mean, image_std=images.image_std)
    size = dict(SIZE, longest_edge=SIZE['longest_edge'] * 4) if video_class is Qwen3VLVideoProcessor else SIZE
    videos = video_class(size=size, fps=2, **settings)
    videos.save_pretrained(folder)
    processor = processor_class(image_processor=images, tokenizer=words, video_processor=videos, chat_template=words.chat_template)
    (folder / 'video_preprocessor_config.json').write_text(json.dumps(dict(settings, size=size, fps=2), indent=2) + '\n')
    frames = torch.stack([picture(100 + i // 2, WIDTH, HEIGHT) for i in range(FRAMES)])
    best = (-1.0,)
    for question in QUESTIONS:
        messages = [{'role': 'user', 'content': [{'type': 'video'}, {'type': 'text', 'text': question}]}]
        text = words.apply_chat_template(messages, tokenize=False, add_generation_prompt=True)
        if processor_class is transformers.Qwen3VLProcessor:
            # Each step brings tokens of its own around it, which take the place of those that the template prints: so did the processor with
            # which the models were published, while later ones keep the template's, too.
            text = text.replace(SHOWN, VIDEO)
        metadata = VideoMetadata(total_num_frames=FRAMES, fps=FPS, duration=FRAMES / FPS, width=WIDTH, height=HEIGHT)
        given = processor(text=[text], videos=[frames.permute(0, 3, 1, 2)], video_metadata=[metadata], do_sample_frames=True,
                          return_tensors='pt', return_metadata=True)  # fmt: skip
        chosen = given.pop('video_metadata')[0].frames_indices
        made = model.generate(**given, max_new_tokens=GREEDY, min_new_tokens=GREEDY, do_sample=False, output_logits=True,
                              return_dict_in_generate=True, pad_token_id=0, eos_token_id=None)  # fmt: skip
        lead = min(float(top[0] - top[1]) for top in (logits[0].topk(2).values for logits in made.logits))
        tokens = made.sequences[0, given['input_ids'].shape[1] :].tolist()
        if lead > best[0]:
            best = (lead, question, [int(i) for i in chosen], given, tokens)
    lead, question, chosen, given, tokens = best
    print(f'{name}: lead {lead:.3f}, {len(set(tokens))} different tokens, frames {chosen}', flush=True)
    with torch.no_grad():
        rows = model.model.get_video_features(given['pixel_values_videos'], given['video_grid_thw'])
    case = dict(question=question, fps=FPS, chosen=chosen, ids=given['input_ids'][0].tolist(), greedy=tokens, lead=round(lead, 4))
    (folder / 'clip.json').write_text(json.dumps(case) + '\n')
    tensors = dict(frames=frames, pixels=given['pixel_values_videos'], grid=given['video_grid_thw'][0].long(), rows=torch.cat(list(rows.pooler_output)))
    save_file({key: value.contiguous() for key, value in tensors.items()}, folder / 'clip.safetensors')
    keep(folder / 'clip.safetensors', Draws(0), pool=ROOT / 'outputs.safetensors')


if __name__ == '__main__':
    torch.set_num_threads(1)
    transformers.logging.set_verbosity_error()
    for name in sys.argv[1:] or FORMS:
        make(name)
