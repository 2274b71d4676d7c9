"""Makes the goldens of the tiny checkpoints:  python scripts/reference/golden.py [NAME of a checkpoint in cases.py…]

test/golden/<name>.json lists the cases; test/golden/<name>.safetensors holds, for each, `<case>` = f32 logits
[rows, vocabulary] at the given positions of one forward pass over input_ids, and where `states` is set `<case>.states` =
what the head is told there, [rows, hidden]. `routed` lists the experts chosen, [positions][layers][experts a token]. All runs are in f32 (stored weights widened,
or quantised and dequantised by quantise.py) with eager attention.

Prompts are sought by prompts.py, so that greedy tokens are clear. These come from transformers' generate with its cache. They are checked here against one pass over the whole
sequence and, but for the `cached` rule, where it is not the same computation, against recomputing everything at each
step. `narrowest_margin` is how far the chosen token stood above the best other one at the closest step, as a share of
the largest magnitude in that row. compact.py afterwards puts the lists on few lines.
"""

import json
import sys
from importlib.metadata import version

import torch
from safetensors.torch import load_file, save_file

from case_model import GREEDY, build, frequencies, fused, lengths_in_force, margins
from cases import CHECKPOINTS
from checkpoint import ROOT
from layouts import loaded
from mxfp4 import widened
from prompts import clear_prompt
from quantise import by_rows, dequantised, is_quantised

RULES = {
    'fixed': 'frequencies do not hang on the sequence length, or all its lengths choose the same ones',
    'prefill': 'frequencies of the length of input_ids for all positions',
    'static': 'frequencies of static_length for all positions, at every step',
    'cached': 'the prompt is rotated for its own length; the token at position p, when it enters, for length p + 1; '
    'cached keys keep their rotation',
}


def load(folder, format, checkpoint):
    state = {}
    for shard in sorted(folder.glob('*.safetensors')):
        state |= load_file(shard)
    codes = {name.removesuffix('_blocks') for name in state if name.endswith('_blocks')}
    state = {name: tensor.float() for name, tensor in widened(state).items()}
    if format != 'stored':
        state = {
            name: by_rows(name, state, t, dequantised, format) if is_quantised(name, t) and name not in codes else t
            for name, t in state.items()
        }
    return loaded(checkpoint.layout, state, checkpoint.config) if checkpoint.layout else fused(state)


def generated(model, prompt):
    """Greedy tokens and their logit rows, by transformers' own loop with its cache."""
    options = dict(do_sample=False, max_new_tokens=GREEDY, use_cache=True, output_logits=True, return_dict_in_generate=True)
    out = model.generate(prompt[None], attention_mask=torch.ones_like(prompt)[None], **options)
    return out.sequences[0, prompt.numel() :], torch.cat(out.logits)


def recomputed(model, prompt):
    ids = prompt
    for _ in range(GREEDY):
        ids = torch.cat((ids, model(ids[None], use_cache=False).logits[0, -1].argmax()[None]))
    return ids[prompt.numel() :]


def sequence(checkpoint, case, folder, state):
    """A prompt and its 32 greedy tokens."""
    placed = {} if checkpoint.zero_row is None else {5: checkpoint.zero_row}
    vocabulary = range(3, checkpoint.config['vocab_size'])
    seed = f'{checkpoint.seed} {case.name}'
    return clear_prompt(behind(build(checkpoint, case, folder, state)), seed, vocabulary, case.prompt, GREEDY, placed)


def behind(model):
    """Gives the logits behind rows of ids."""
    return lambda ids: model(ids, use_cache=False, logits_to_keep=1).logits[:, -1]


def recorded_routes(model):
    """What the routers of each layer choose from now on: a list that the next pass fills."""
    routes = []
    for name, module in model.named_modules():
        # Llama 4's gives the scores of all experts.
        if name.endswith(('mlp.gate', '.router')) and not name.endswith('feed_forward.router'):
            module.register_forward_hook(lambda _, __, out: routes.append(out[2]))
    return routes


@torch.no_grad()
def run(checkpoint, case, folder):
    state = load(folder, case.weights, checkpoint)
    ids = torch.tensor(sequence(checkpoint, case, folder, state))
    prompt = ids[: case.prompt]
    positions = sorted({0, 7, case.prompt - 1, case.prompt + 12, ids.numel() - 1})
    model = build(checkpoint, case, folder, state)
    routes = recorded_routes(model)
    logits = model(ids[None], use_cache=False).logits[0]
    golden = {
        'name': case.name,
        'config': case.config,
        'weights': case.weights,
        'rope': {'rule': case.rule, 'meaning': RULES[case.rule]},
        'input_ids': ids.tolist(),
        'positions': positions,
    }
    if case.note:
        golden['note'] = case.note
    if routes:
        golden['routed'] = torch.stack(routes, 1).tolist()
    states = None
    if case.states:
        golden['states'] = True
        states = model.model(ids[None], use_cache=False).last_hidden_state[0, positions].contiguous()
    if case.static_length:
        golden['rope']['static_length'] = case.static_length
    own = build(checkpoint, case, folder, state, tabled=case.rule == 'static')
    if case.rule == 'prefill':  # the table must say what transformers does
        torch.testing.assert_close(own(ids[None], use_cache=False).logits[0], logits, rtol=1e-5, atol=1e-5)
    else:
        tokens, rows = generated(own, prompt)
        torch.testing.assert_close(rows, logits[case.prompt - 1 : -1], rtol=1e-4, atol=1e-4)
        if not torch.equal(tokens, ids[case.prompt :]):
            raise RuntimeError(f'{checkpoint.name} {case.name}: greedy decoding with a cache strays from that without')
        if case.rule == 'fixed' or case.rule == 'static':
            assert torch.equal(recomputed(own, prompt), tokens)
        margin = margins(rows, tokens).min().item()
        golden['greedy'] = {'prompt_ids': prompt.tolist(), 'tokens': tokens.tolist(), 'narrowest_margin': round(margin, 4)}
    return golden, logits[positions].contiguous(), states


def distances(checkpoint, case, folder, logits, positions, ids):
    """How far other roundings of the same pass lie, relative to each row's largest magnitude: printed, not kept."""
    state = load(folder, case.weights, checkpoint)

    def distance(other):
        return ((other[0, positions] - logits).abs().amax(-1) / logits.abs().amax(-1)).max().item()

    exact = build(checkpoint, case, folder, state).double()
    half = build(checkpoint, case, folder, state)
    for module in half.modules():
        if isinstance(module, torch.nn.Linear):
            module.register_forward_pre_hook(lambda _, x: (x[0].half().float(),))
    return distance(exact(ids[None]).logits.float()), distance(half(ids[None]).logits)


def lengths_matter(checkpoint, case, folder):
    """A case with a rule of its own must be one where the rule shows."""
    config = checkpoint.model.config_class.from_dict(json.loads((folder / 'config.json').read_text()) | case.config)
    first, last = (frequencies(config, length)[0] for length in (1, case.prompt + GREEDY))
    return not torch.equal(first, last)


@torch.no_grad()
def make(checkpoint):
    folder = ROOT / checkpoint.name
    cases, tensors = [], {}
    for case in checkpoint.cases:
        assert not lengths_in_force(case) or lengths_matter(checkpoint, case, folder), case.name
        golden, logits, states = run(checkpoint, case, folder)
        ids = torch.tensor(golden['input_ids'])
        near, half = distances(checkpoint, case, folder, logits, golden['positions'], ids)
        margin = golden.get('greedy', {}).get('narrowest_margin')
        largest = logits.abs().max().item()
        name = f'{checkpoint.name} {case.name}'
        print(f'{name:24} largest {largest:5.1f}  margin {margin}  f64 {near:.1e}  f16 inputs {half:.1e}')
        cases.append(golden)
        tensors[case.name] = logits
        if states is not None:
            tensors[f'{case.name}.states'] = states
    save_file(tensors, ROOT / f'{checkpoint.name}.safetensors')
    document = {
        'command': f'python scripts/reference/golden.py {checkpoint.name}',
        'checkpoint_command': f'python scripts/reference/checkpoint.py {checkpoint.name}',
        'made_with': {name: version(name) for name in ('torch', 'transformers')},
        'architecture': checkpoint.layout.class_name if checkpoint.layout else checkpoint.model.__name__,
        'checkpoint': checkpoint.name,
        'stored_as': checkpoint.config['dtype'],
        'cases': cases,
    }
    (ROOT / f'{checkpoint.name}.json').write_text(json.dumps(document, indent=2) + '\n')


if __name__ == '__main__':
    for name in sys.argv[1:] or CHECKPOINTS:
        make(CHECKPOINTS[name])
