"""Makes the tiny draft models of test/golden/drafts and what they guess:  python scripts/reference/drafts.py

Targets are checkpoints of cases.py; run checkpoint.py before. The heads that predict several tokens ahead lie in a copy of their target's file.
transformers ignores those, so that they are written here by vLLM's qwen3_next_mtp.py and SGLang's deepseek_nextn.py, with transformers' layer; EAGLE3 by SGLang's llama_eagle3.py, with
transformers' layer of Llama split in two. Gemma 4's assistant is that of transformers.

test/golden/drafts.json lists the cases; drafts.safetensors holds, for each, `<case>` = f32 logits [rows, vocabulary] of the draft model for each token
of the text but the last (of Gemma 4's assistant: at the end of the text only). `guessed`: tokens that follow the text, each guessed from those before.
"""

import json
import shutil

import torch
from safetensors.torch import load_file, save_file
from torch import nn
from transformers import Gemma4AssistantForCausalLM, LlamaConfig
from transformers.models.llama.modeling_llama import LlamaDecoderLayer, LlamaRotaryEmbedding
from transformers.models.gemma4.configuration_gemma4 import Gemma4TextConfig
from transformers.models.gemma4_assistant.configuration_gemma4_assistant import Gemma4AssistantConfig

from case_model import build, margins
from cases import CHECKPOINTS
from checkpoint import ROOT
from golden import load
from recipe import Draws, drawn_for, keep

FOLDER = ROOT / 'drafts'
# transformers 5.23 looks among an assistant's own layers for those whose keys and values it shares, and has none.
MODES = Gemma4TextConfig.kv_sharing_modes
Gemma4TextConfig.kv_sharing_modes = property(
    lambda config: ['reuse'] * config.num_hidden_layers if config.num_kv_shared_layers == config.num_hidden_layers else MODES.fget(config)
)
GUESSES = 4
TOKENS = 40  # more than a page
LEAST_MARGIN = 0.01


def drawn(draws, name, shape, gain=1.0):
    if len(shape) == 1:
        # Norms of Qwen are stored as what is added to one.
        return draws(name, shape, 0.3, 0.0 if name.startswith('mtp.') else 1.0)
    query = 1.6 if 'q_proj' in name or 'k_proj' in name else 3.0 if name.endswith('mlp.gate.weight') else gain
    return draws(name, shape, query / shape[-1] ** 0.5)


def causal(rows):
    return torch.full((rows, rows), torch.finfo(torch.float32).min).triu(1)[None, None]


class Mtp(nn.Module):
    """vLLM's Qwen3NextMultiTokenPredictor with one layer."""

    def __init__(self, target, layer):
        super().__init__()
        config = type(target.config).from_dict(target.config.to_dict() | layer | {'num_hidden_layers': 1})
        config._attn_implementation = config._experts_implementation = 'eager'
        base = target.model
        norm = type(base.norm)
        self.fc = nn.Linear(2 * config.hidden_size, config.hidden_size, bias=False)
        self.layers = nn.ModuleList([type(base.layers[0])(config, 0)])
        self.norm, self.pre_fc_norm_hidden, self.pre_fc_norm_embedding = (norm(config.hidden_size, eps=config.rms_norm_eps) for _ in range(3))
        self.target = [target]

    def forward(self, ids, hidden):
        (target,) = self.target
        base = target.model
        x = torch.cat((self.pre_fc_norm_embedding(base.embed_tokens(ids)), self.pre_fc_norm_hidden(hidden)), -1)
        x = self.fc(x)[None]
        positions = torch.arange(ids.numel())[None]
        x = self.layers[0](x, position_embeddings=base.rotary_emb(x, positions), attention_mask=causal(ids.numel()), position_ids=positions)
        x = self.norm(x[0] if x.dim() == 3 else x)
        return x, target.lm_head(x)

    def taken(self, ids):
        return self.target[0].model(ids[None], use_cache=False).last_hidden_state[0]


class Eagle3(nn.Module):
    """SGLang's LlamaForCausalLMEagle3."""

    def __init__(self, target, values):
        super().__init__()
        config = LlamaConfig(**{key: value for key, value in values.items() if key != 'architectures'})
        config._attn_implementation = 'eager'
        size, eps = config.hidden_size, config.rms_norm_eps
        self.fc = nn.Linear(3 * size, size, bias=False)
        self.midlayer = LlamaDecoderLayer(config, 0)
        attention = self.midlayer.self_attn
        for name in ('q_proj', 'k_proj', 'v_proj'):
            setattr(attention, name, nn.Linear(2 * size, getattr(attention, name).out_features, bias=False))
        self.midlayer.hidden_norm = type(self.midlayer.input_layernorm)(size, eps=eps)
        self.norm = type(self.midlayer.input_layernorm)(size, eps=eps)
        self.lm_head = nn.Linear(size, config.draft_vocab_size, bias=False)
        self.rotary = LlamaRotaryEmbedding(config)
        self.before = config.norm_before_residual
        self.layer_ids = config.eagle_config['eagle_aux_hidden_state_layer_ids']
        self.target = [target]

    def forward(self, ids, hidden):
        base, layer = self.target[0].model, self.midlayer
        normed = layer.hidden_norm(hidden)
        x = torch.cat((layer.input_layernorm(base.embed_tokens(ids)), normed), -1)[None]
        positions = torch.arange(ids.numel())[None]
        mixed, _ = layer.self_attn(x, position_embeddings=self.rotary(x, positions), attention_mask=causal(ids.numel()))
        x = (normed if self.before else hidden) + mixed[0]
        x = x + layer.mlp(layer.post_attention_layernorm(x))
        return x, self.lm_head(self.norm(x))

    def taken(self, ids):
        found = {}
        hooks = [
            self.target[0].model.layers[i].register_forward_hook(lambda _, __, out, i=i: found.update({i: out[0] if isinstance(out, tuple) else out}))
            for i in self.layer_ids
        ]
        self.target[0].model(ids[None], use_cache=False)
        for hook in hooks:
            hook.remove()
        return self.fc(torch.cat([found[i].reshape(ids.numel(), -1) for i in self.layer_ids], -1))


def chained(draft, ids, offsets=None):
    """Logits of all rows of a text, guesses behind it, and the margins of these."""
    token = lambda logits: logits.argmax() + (0 if offsets is None else offsets[logits.argmax()])
    hidden, tokens = draft.taken(ids)[:-1], ids[1:]
    guesses, clear, first = [], [], None
    for _ in range(GUESSES):
        out, logits = draft(tokens, hidden)
        first = logits if first is None else first
        clear.append(margins(logits[-1:], logits[-1].argmax()[None]).item())
        guesses.append(int(token(logits[-1])))
        tokens = torch.cat((tokens, torch.tensor(guesses[-1:])))
        hidden = torch.cat((hidden, out[-1:]))
    return first, guesses, min(clear)


def assisted(target, assistant, ids):
    """transformers' SinglePositionMultiTokenCandidateGenerator, step by step."""
    out = target(ids[None, :-1], use_cache=True, output_hidden_states=True, return_shared_kv_states=True)
    hidden, last = out.hidden_states[-1][:, -1:], ids[None, -1:]
    positions = torch.tensor([[ids.numel() - 1]])
    guesses, clear, first = [], [], None
    for _ in range(GUESSES):
        both = torch.cat((target.get_input_embeddings()(last), hidden), -1)
        told = assistant(inputs_embeds=both, position_ids=positions, shared_kv_states=out.shared_kv_states, use_cache=False)
        logits, hidden = told.logits[0], told.last_hidden_state
        first = logits if first is None else first
        last = logits.argmax(-1)[None]
        clear.append(margins(logits, last[0]).item())
        guesses.append(int(last))
    return first, guesses, min(clear)


def target_of(name):
    checkpoint = CHECKPOINTS[name]
    folder = ROOT / name
    return checkpoint, build(checkpoint, checkpoint.cases[0], folder, load(folder, 'stored', checkpoint))


def write(folder, config, tensors, *draws):
    folder.mkdir(parents=True, exist_ok=True)
    (folder / 'config.json').write_text(json.dumps(config, indent=2) + '\n')
    save_file({name: tensor.contiguous() for name, tensor in sorted(tensors.items())}, folder / 'model.safetensors', {'format': 'pt'})
    keep(folder / 'model.safetensors', *draws)


FULL = {'layer_types': ['full_attention'], 'mlp_only_layers': []}


def behind(key):
    """A name of Mtp's as the layer behind the second has it."""
    for ours, name in {'layers.0.': '', 'fc.': 'eh_proj.', 'norm.': 'shared_head.norm.', 'pre_fc_norm_hidden.': 'hnorm.', 'pre_fc_norm_embedding.': 'enorm.'}.items():
        if key.startswith(ours):
            return f'model.layers.2.{name}{key.removeprefix(ours)}'
    raise KeyError(key)


def mtp(name, seed, layer=FULL, named='mtp.{}'.format, stated='mtp_num_hidden_layers', copies=()):
    _, target = target_of(name)
    draws = Draws(seed)
    draft = Mtp(target, layer).float().eval()
    own, values = {}, {}
    for key, value in draft.state_dict().items():
        own[named(key)] = drawn(draws, named(key), value.shape).bfloat16()
        values[key] = own[named(key)].float()
    draft.load_state_dict(values)
    for copy in copies:
        own[copy] = drawn(draws, copy, target.model.embed_tokens.weight.shape).bfloat16()
    path = ROOT / name / 'model.safetensors'
    config = json.loads((ROOT / name / 'config.json').read_text()) | {stated: 1}
    write(FOLDER / f'{name}-mtp', config, load_file(path) | own, draws, drawn_for(path))
    return (name, lambda ids: chained(draft, ids))


def eagle3(name, target_name, seed, before):
    _, target = target_of(target_name)
    config = dict(
        architectures=['LlamaForCausalLMEagle3'], model_type='llama', hidden_size=64, intermediate_size=80, num_hidden_layers=1,
        num_attention_heads=4, num_key_value_heads=2, head_dim=24, vocab_size=331, draft_vocab_size=120, rms_norm_eps=1e-5, rope_theta=1000.0,
        max_position_embeddings=128, hidden_act='silu', tie_word_embeddings=False, norm_before_residual=before,
        eagle_config={'eagle_aux_hidden_state_layer_ids': [0, 1, 2], 'use_aux_hidden_state': True}, torch_dtype='bfloat16',
    )  # fmt: skip
    draws = Draws(seed)
    draft = Eagle3(target, config).float().eval()
    own = {key: drawn(draws, key, value.shape).bfloat16() for key, value in draft.state_dict().items()}
    own['lm_head.weight'] = draws('lm_head.weight', (120, 64), 0.25).bfloat16()
    draft.load_state_dict({key: value.float() for key, value in own.items()})
    offsets = torch.arange(120) * 7 // 4  # every fourth and seventh token has one
    write(FOLDER / name, config, own | {'d2t': offsets, 't2d': torch.isin(torch.arange(331), torch.arange(120) + offsets)}, draws)
    return (target_name, lambda ids: chained(draft, ids, offsets))


def assistant(name, target_name, seed):
    _, target = target_of(target_name)
    text = dict(
        model_type='gemma4_text', vocab_size=331, hidden_size=32, intermediate_size=48, num_hidden_layers=3, num_attention_heads=2, num_key_value_heads=1,
        head_dim=16, global_head_dim=32, sliding_window=8, rms_norm_eps=1e-6, hidden_size_per_layer_input=0, vocab_size_per_layer_input=0,
        num_kv_shared_layers=3, layer_types=['sliding_attention', 'sliding_attention', 'full_attention'], max_position_embeddings=128,
    )  # fmt: skip
    model = Gemma4AssistantForCausalLM(Gemma4AssistantConfig(text_config=text, backbone_hidden_size=64)).float().eval()
    for module in model.modules():
        if hasattr(module, 'config') and hasattr(module.config, '_attn_implementation'):
            module.config._attn_implementation = 'eager'
    draws = Draws(seed)
    for i, scalar in enumerate(buffer for key, buffer in model.named_buffers() if key.endswith('layer_scalar')):
        scalar.copy_(draws(f'scalar {i}', (1,), 0.1, 1.0).bfloat16().float())
    for key, value in model.named_parameters():
        value.data = drawn(draws, key, value.shape).bfloat16().float()
    config = model.config.to_dict() | {'architectures': ['Gemma4AssistantForCausalLM'], 'dtype': 'bfloat16'}
    own = {key: value.bfloat16() for key, value in model.state_dict().items() if key != 'lm_head.weight'}
    write(FOLDER / name, config, own, draws)
    return (target_name, lambda ids: assisted(target, model, ids))


@torch.no_grad()
def make():
    shutil.rmtree(FOLDER, ignore_errors=True)
    made = {
        'qwen3-5-mtp': mtp('qwen3-5', 51),
        'qwen3-next-mtp': mtp('qwen3-next', 52),
        'deepseek-v32-mtp': mtp(
            'deepseek-v32', 56, {'first_k_dense_replace': 0, 'mlp_layer_types': ['sparse'], 'layer_types': ['indexed_attention']}, behind,
            'num_nextn_predict_layers', ('model.layers.2.embed_tokens.weight', 'model.layers.2.shared_head.head.weight'),
        ),
        'glm4-moe-mtp': mtp('glm4-moe', 57, {'first_k_dense_replace': 0}, behind, 'num_nextn_predict_layers'),
        'eagle3': eagle3('eagle3', 'qwen3-moe', 53, False),
        'eagle3-normed': eagle3('eagle3-normed', 'qwen3-moe', 54, True),
        'gemma4-assistant': assistant('gemma4-assistant', 'gemma4-e', 55),
    }
    cases, tensors = [], {}
    for name, (target, run) in made.items():
        for seed in range(1000):
            ids = torch.randint(3, 331, (TOKENS,), generator=torch.Generator().manual_seed(seed))
            logits, guessed, margin = run(ids)
            if margin > LEAST_MARGIN and len(set(guessed)) == GUESSES:
                break
        else:
            raise RuntimeError(f'{name}: no clear guesses')
        print(f'{name:18} seed {seed} largest {logits.abs().max():.1f} margin {margin:.3f} guessed {guessed}')
        cases.append({'name': name, 'target': target, 'input_ids': ids.tolist(), 'guessed': guessed, 'narrowest_margin': round(margin, 4)})
        tensors[name] = logits.contiguous()
    save_file(tensors, ROOT / 'drafts.safetensors')
    document = {'command': 'python scripts/reference/drafts.py', 'cases': cases}
    (ROOT / 'drafts.json').write_text(json.dumps(document, indent=2) + '\n')


if __name__ == '__main__':
    make()
