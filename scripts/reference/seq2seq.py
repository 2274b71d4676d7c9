"""Makes tiny encoder-decoder models and what transformers generates with them:  python scripts/reference/seq2seq.py [NAME…]

test/golden/seq2seq/<name>/ is a checkpoint with random weights; values.json beside it holds for some sources 32 greedy tokens, without an end token,
the log probabilities of the five best at each of them and the largest logit, in f32. Sources are sought whose tokens are clear.
"""

import json
import random
import shutil
import sys
from importlib.metadata import version
from pathlib import Path

import torch
import transformers
from safetensors.torch import load_file, save_file

from prompts import leads
from recipe import Draws, keep

ROOT = Path(__file__).parents[2] / 'test' / 'golden' / 'seq2seq'
TOKENS, BEST = 32, 5
MARGIN, BATCH, BATCHES = 0.003, 64, 25
LENGTHS = (1, 5, 33, 70)
T5 = dict(
    vocab_size=331, d_model=64, d_kv=24, d_ff=80, num_layers=3, num_decoder_layers=2, num_heads=4, relative_attention_num_buckets=8,
    relative_attention_max_distance=20, pad_token_id=0, eos_token_id=1,
)  # fmt: skip
BART = dict(
    vocab_size=331, d_model=64, encoder_layers=2, decoder_layers=2, encoder_attention_heads=4, decoder_attention_heads=4, encoder_ffn_dim=80,
    decoder_ffn_dim=96, max_position_embeddings=128,
)  # fmt: skip
START = {'decoder_start_token_id': 2}
FORCED = {**START, 'forced_bos_token_id': 7}
# name: (class, seed, configuration, generation settings)
MODELS = {
    't5': ('T5ForConditionalGeneration', 1, dict(T5), {'decoder_start_token_id': 0}),
    'flan-t5': ('T5ForConditionalGeneration', 2, dict(T5, feed_forward_proj='gated-gelu', tie_word_embeddings=False), {'decoder_start_token_id': 0}),
    'mt5': ('MT5ForConditionalGeneration', 3, dict(T5, feed_forward_proj='gated-gelu'), {'decoder_start_token_id': 0}),
    'umt5': ('UMT5ForConditionalGeneration', 4, dict(T5, feed_forward_proj='gated-gelu'), {'decoder_start_token_id': 0}),
    'bart': ('BartForConditionalGeneration', 11, dict(BART), FORCED),
    'mbart': ('MBartForConditionalGeneration', 12, dict(BART, scale_embedding=True), FORCED),
    'm2m100': ('M2M100ForConditionalGeneration', 13, dict(BART), FORCED),
    'marian': ('MarianMTModel', 14, dict(BART, activation_function='swish', scale_embedding=True, pad_token_id=330, eos_token_id=0, decoder_start_token_id=330),
               {'decoder_start_token_id': 330, 'bad_words_ids': [[330]]}),
    'pegasus': ('PegasusForConditionalGeneration', 15, dict(BART, activation_function='relu', scale_embedding=True), {'decoder_start_token_id': 0}),
    'blenderbot': ('BlenderbotForConditionalGeneration', 16, dict(BART, scale_embedding=True), {'decoder_start_token_id': 1}),
    'blenderbot-small': ('BlenderbotSmallForConditionalGeneration', 17, dict(BART, scale_embedding=True), {'decoder_start_token_id': 1}),
    'plbart': ('PLBartForConditionalGeneration', 18, dict(BART, scale_embedding=True), FORCED),
}  # fmt: skip


def draw(model, seed):
    draws = Draws(seed)
    for name, weight in model.named_parameters():
        if 'sinusoidal' in name or not weight.requires_grad:
            continue
        if weight.dim() == 1:
            weight.data = draws(name, weight.shape, 0.1, 1.0 if 'norm' in name and 'bias' not in name else 0.0)
        elif 'relative_attention_bias' in name:
            weight.data = draws(name, weight.shape, 1.5)
        elif 'embed_positions' in name:
            weight.data = draws(name, weight.shape, 1.0)
        elif 'shared' in name or 'embed' in name or 'lm_head' in name:
            scaled = getattr(model.config, 'scale_embedding', False)
            weight.data = draws(name, weight.shape, 1.0 if 'T5' in type(model).__name__ else 0.1 if scaled else 0.3)
        else:
            # Blocks outweigh the embedding in the residual stream, which is the head, too, and would repeat its token.
            # Scores of T5 have no factor.
            gain = 4.0 if name.endswith(('.o.weight', 'wo.weight')) else 0.4 if name.endswith('.q.weight') else 3.0 if name.endswith(('out_proj.weight', 'q_proj.weight')) else 1.5
            weight.data = draws(name, weight.shape, gain / weight[0].numel() ** 0.5)
    if hasattr(model, 'final_logits_bias'):
        model.final_logits_bias.data = draws('final_logits_bias', model.final_logits_bias.shape, 0.3)
    return draws


def made(name):
    kind, seed, values, generation = MODELS[name]
    torch.manual_seed(0)
    model = getattr(transformers, kind)(getattr(transformers, kind.split('For')[0].replace('MTModel', '') + 'Config')(**values))
    if values.get('tie_word_embeddings') is False:
        model.lm_head.weight = torch.nn.Parameter(torch.zeros_like(model.lm_head.weight))
    else:
        model.tie_weights()
    draws = draw(model, seed)
    model.generation_config = transformers.GenerationConfig(**generation)
    return model.eval(), draws, seed, values, generation


def write(name, model, draws, values, generation):
    folder = ROOT / name
    shutil.rmtree(folder, ignore_errors=True)
    if values.get('tie_word_embeddings') is False:
        model.config.tie_word_embeddings = False
    model.save_pretrained(folder)
    path = folder / 'model.safetensors'
    frozen = {name for name, weight in model.named_parameters() if not weight.requires_grad}  # tables of positions, which follow from a formula
    save_file({name: tensor for name, tensor in load_file(path).items() if name not in frozen}, path, {'format': 'pt'})
    keep(path, draws)
    config = json.loads((folder / 'config.json').read_text())
    if values.get('tie_word_embeddings') is False:
        config['tie_word_embeddings'] = False
        config.pop('scale_decoder_outputs', None)
    (folder / 'config.json').write_text(json.dumps(dict(sorted(config.items())), indent=2) + '\n')
    (folder / 'generation_config.json').write_text(json.dumps(generation, indent=2) + '\n')


def followed(model, sources, begin):
    """Greedy tokens of sources of one length, the logits of each, and the narrowest lead over the next best token."""
    options = dict(do_sample=False, max_new_tokens=TOKENS + len(begin) - 1, eos_token_id=None, pad_token_id=0)
    out = model.generate(sources, attention_mask=torch.ones_like(sources), output_logits=True, return_dict_in_generate=True, **options)
    logits = torch.stack(out.logits, 1)[:, len(begin) - 1 :]
    banned = [ids[0] for ids in model.generation_config.bad_words_ids or []]
    open_to = [i for i in range(logits.shape[-1]) if i not in banned]
    lead = torch.stack([leads(row) for row in logits[:, :, open_to].unbind(1)], 1).amin(1)
    return out.sequences[:, len(begin) :], logits, lead


def clear(model, length, begin, seed):
    """Of the sources whose tokens are clear the one that is followed by most different tokens."""
    picked = random.Random(seed)
    for _ in range(BATCHES):
        sources = torch.tensor([[picked.randrange(3, 300) for _ in range(length)] for _ in range(BATCH)])
        tokens, logits, lead = followed(model, sources, begin)
        found = max((i for i in range(BATCH) if lead[i] > MARGIN), key=lambda i: len(set(tokens[i].tolist())), default=None)
        if found is not None:
            return sources[found].tolist(), tokens[found].tolist(), logits[found]
    raise RuntimeError(f'no clear source of {length} tokens; the best leads by {lead.max():.4f}')


@torch.no_grad()
def make(name):
    model, draws, seed, values, generation = made(name)
    begin = [generation['decoder_start_token_id'], *([generation['forced_bos_token_id']] if 'forced_bos_token_id' in generation else [])]
    cases = []
    for length in LENGTHS:
        source, tokens, rows = clear(model, length, begin, seed * 100 + length)
        best = [row.log_softmax(-1).topk(BEST) for row in rows]
        cases.append({
            'source': source, 'tokens': tokens, 'best': [one.indices.tolist() for one in best],
            'logprobs': [[round(float(value), 5) for value in one.values] for one in best], 'largest': [round(float(row.abs().max()), 3) for row in rows],
        })  # fmt: skip
        ids = torch.tensor([[*begin, *tokens]])
        whole = model(input_ids=torch.tensor([source]), decoder_input_ids=ids[:, :-1]).logits[0, len(begin) - 1 :]
        assert ((whole - rows).abs().amax(-1) < 1e-4 * rows.abs().amax(-1)).all()
        print(name, length, tokens[:12], flush=True)
    write(name, model, draws, values, generation)
    packages = {package: version(package) for package in ('torch', 'transformers')}
    document = {'command': f'python scripts/reference/seq2seq.py {name}', 'made_with': packages, 'cases': cases}
    (ROOT / name / 'values.json').write_text(json.dumps(document) + '\n')


if __name__ == '__main__':
    for name in sys.argv[1:] or MODELS:
        make(name)
