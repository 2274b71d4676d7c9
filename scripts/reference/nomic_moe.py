"""Makes the golden of NomicBERT with experts:  python scripts/reference/nomic_moe.py

transformers has no class for it. The reference below computes one text at a time in f32 from the published tensors: every second layer sends a
token to the best experts of a softmax, whose shares are not brought to one, and adds a bias of all experts to their sum.
"""

import json
import shutil
from importlib.metadata import version

import torch
from safetensors.torch import save_file
from torch.nn.functional import gelu, layer_norm, linear, normalize

from draws import Draws
from embedding import ROOT, TEXTS, wordpiece, write
from recipe import keep

NAME = 'nomic-moe'
HIDDEN, HEADS, FFN, LAYERS, EXPERTS, CHOSEN, EPS, THETA = 64, 4, 96, 2, 4, 2, 1e-5, 10_000.0
CONFIG = {
    'architectures': ['NomicBertModel'], 'model_type': 'nomic_bert', 'activation_function': 'gelu', 'attn_pdrop': 0.0,
    'auto_map': {'AutoModel': 'nomic-ai/nomic-bert-2048--modeling_hf_nomic_bert.NomicBertModel'}, 'causal': False,
    'expert_choice_router': False, 'ffn_div': 1, 'layer_norm_epsilon': EPS, 'max_trained_positions': 2048, 'mlp_fc1_bias': True,
    'mlp_fc2_bias': True, 'moe_every_n_layers': 2, 'moe_impl': 'megablocks', 'moe_normalize_expert_weights': False,
    'moe_resid_pdrop': 0.0, 'moe_top_k': CHOSEN, 'n_embd': HIDDEN, 'n_head': HEADS, 'n_inner': FFN, 'n_layer': LAYERS,
    'n_positions': 2048, 'num_experts': EXPERTS, 'num_shared_experts': 0, 'pad_token_id': 1, 'parallel_block': False, 'prenorm': False,
    'qkv_proj_bias': True, 'rotary_emb_base': THETA, 'rotary_emb_fraction': 1.0, 'rotary_emb_interleaved': False,
    'rotary_emb_scale_base': None, 'rotary_scaling_factor': None, 'scale_attn_weights': True, 'type_vocab_size': 1, 'use_rms_norm': False,
}  # fmt: skip


def drawn(draws, vocabulary):
    """The tensors under their published names."""
    weights = {}

    def matrix(name, rows, columns, scale, bias=0):
        weights[name if scale is None else f'{name}.weight'] = draws(name, (rows, columns), scale or columns**-0.5)
        if bias:
            weights[f'{name}.bias'] = draws(f'{name}.bias', (bias,), 0.2)

    def norm(name):
        weights[f'{name}.weight'] = draws(f'{name}.weight', (HIDDEN,), 0.2, 1.0)
        weights[f'{name}.bias'] = draws(f'{name}.bias', (HIDDEN,), 0.2)

    matrix('embeddings.word_embeddings', vocabulary, HIDDEN, 0.5)
    matrix('embeddings.token_type_embeddings', 1, HIDDEN, 0.5)
    norm('emb_ln')
    for layer in range(LAYERS):
        name = f'encoder.layers.{layer}'
        matrix(f'{name}.attn.Wqkv', 3 * HIDDEN, HIDDEN, 2 * HIDDEN**-0.5, bias=3 * HIDDEN)
        matrix(f'{name}.attn.out_proj', HIDDEN, HIDDEN, HIDDEN**-0.5, bias=HIDDEN)
        norm(f'{name}.norm1')
        norm(f'{name}.norm2')
        if layer % 2 == 1:
            matrix(f'{name}.mlp.router.layer', EXPERTS, HIDDEN, 2 * HIDDEN**-0.5)
            matrix(f'{name}.mlp.experts.mlp.w1', EXPERTS * FFN, HIDDEN, None)
            matrix(f'{name}.mlp.experts.mlp.w2', EXPERTS * FFN, HIDDEN, None)
            weights[f'{name}.mlp.experts.bias'] = draws(f'{name}.mlp.experts.bias', (HIDDEN,), 0.5)
        else:
            matrix(f'{name}.mlp.fc1', FFN, HIDDEN, HIDDEN**-0.5, bias=FFN)
            matrix(f'{name}.mlp.fc2', HIDDEN, FFN, FFN**-0.5, bias=HIDDEN)
    return weights


class Reference:
    def __init__(self, weights):
        self.weights = weights

    def linear(self, x, name):
        return linear(x, self.weights[f'{name}.weight'], self.weights.get(f'{name}.bias'))

    def norm(self, x, name):
        return layer_norm(x, (HIDDEN,), self.weights[f'{name}.weight'], self.weights[f'{name}.bias'], EPS)

    def attention(self, x, name):
        rows, dims = len(x), HIDDEN // HEADS
        q, k, v = self.linear(x, f'{name}.Wqkv').view(rows, 3, HEADS, dims).permute(1, 2, 0, 3)
        angles = torch.arange(rows)[:, None] * THETA ** (-torch.arange(0, dims, 2) / dims)
        cos, sin = (torch.cat([part, part], -1) for part in (angles.cos(), angles.sin()))

        def turned(y):
            first, second = y.chunk(2, -1)
            return y * cos + torch.cat([-second, first], -1) * sin

        scores = turned(q) @ turned(k).transpose(1, 2) / dims**0.5
        return self.linear((scores.softmax(-1) @ v).transpose(0, 1).reshape(rows, HIDDEN), f'{name}.out_proj')

    def experts(self, x, name):
        shares, chosen = self.linear(x, f'{name}.router.layer').softmax(-1).topk(CHOSEN)
        w1, w2 = (self.weights[f'{name}.experts.mlp.{part}'].view(EXPERTS, FFN, HIDDEN) for part in ('w1', 'w2'))
        rows = [
            sum(share * (gelu(row @ w1[expert].T) @ w2[expert]) for share, expert in zip(*pair, strict=True))
            for row, pair in zip(x, zip(shares, chosen, strict=True), strict=True)
        ]
        return torch.stack(rows) + self.weights[f'{name}.experts.bias']

    def states(self, ids):
        x = self.weights['embeddings.word_embeddings.weight'][ids] + self.weights['embeddings.token_type_embeddings.weight'][0]
        x = self.norm(x, 'emb_ln')
        for layer in range(LAYERS):
            name = f'encoder.layers.{layer}'
            x = self.norm(x + self.attention(x, f'{name}.attn'), f'{name}.norm1')
            plain = layer % 2 == 0
            made = self.linear(gelu(self.linear(x, f'{name}.mlp.fc1')), f'{name}.mlp.fc2') if plain else self.experts(x, f'{name}.mlp')
            x = self.norm(x + made, f'{name}.norm2')
        return x


@torch.no_grad()
def make():
    folder = ROOT / NAME
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    tokenizer, specials = wordpiece('[CLS]', '[SEP]', '[PAD]')
    draws = Draws(31)
    weights = drawn(draws, tokenizer.get_vocab_size())
    save_file(weights, folder / 'model.safetensors', metadata={'format': 'pt'})
    keep(folder / 'model.safetensors', draws)
    write(folder, 'config.json', {'vocab_size': tokenizer.get_vocab_size(), **CONFIG})
    tokenizer.save(str(folder / 'tokenizer.json'))
    write(folder, 'tokenizer_config.json', specials)
    modules = json.loads((ROOT / 'nomic' / 'modules.json').read_text())
    write(folder, 'modules.json', modules)
    pooling = json.loads((ROOT / 'nomic' / '1_Pooling' / 'config.json').read_text())
    write(folder, '1_Pooling/config.json', pooling)
    reference, cases = Reference(weights), []
    for text in TEXTS:
        ids = tokenizer.encode(text).ids
        embedding = normalize(reference.states(torch.tensor(ids)).mean(0), dim=0)
        cases.append({'text': text, 'ids': ids, 'embedding': [round(value, 7) for value in embedding.tolist()]})
    packages = {package: version(package) for package in ('torch', 'tokenizers')}
    write(folder, 'embeddings.json', {'command': 'python scripts/reference/nomic_moe.py', 'made_with': packages, 'cases': cases})


if __name__ == '__main__':
    make()
