"""Makes tiny models with heads and what transformers computes with them:  python scripts/reference/classifiers.py [NAME…]

test/golden/classifiers/<name>/ is a checkpoint with random weights and a tokenizer trained on the texts of embedding.py; values.json
beside it holds for each text or pair its token ids, their types and the values of the head, computed in f32 one text at a time. Pairs
are also tokenized with a limit of 24 tokens, which cuts the longer text.
"""

import json
import shutil
import sys
from importlib.metadata import version
from pathlib import Path

import torch
import transformers
from embedding import BERT, SMALL, TEXTS, byte_level, draw, wordpiece, write
from recipe import keep

ROOT = Path(__file__).parents[2] / 'test' / 'golden' / 'classifiers'
PAIRS = [(TEXTS[0], TEXTS[1]), (TEXTS[0], TEXTS[2]), (TEXTS[3], TEXTS[4]), (TEXTS[4], TEXTS[0])]
LIMIT = 24


def labelled(count):
    return {at: f'label {at}' for at in range(count)}


def bert_family(kind, labels, **more):
    starts = ('[CLS]', '[SEP]', '[PAD]') if kind == 'Bert' else ('<s>', '</s>', '<pad>')
    tokenizer, specials = wordpiece(*starts)
    if kind == 'Bert':
        start, end = (tokenizer.token_to_id(token) for token in starts[:2])
        from tokenizers.processors import TemplateProcessing

        pair = f'{starts[0]} $A {starts[1]} $B:1 {starts[1]}:1'
        ids = [(starts[0], start), (starts[1], end)]
        tokenizer.post_processor = TemplateProcessing(f'{starts[0]} $A {starts[1]}', pair, ids)
    sizes = dict(vocab_size=tokenizer.get_vocab_size(), pad_token_id=1, id2label=labelled(labels), **BERT)
    return tokenizer, specials, getattr(transformers, f'{kind}Config')(**sizes, **more)


def cross_encoder():
    """As sentence-transformers publishes them: one value, whose function it states."""
    tokenizer, specials, config = bert_family('Bert', 1)
    config.sentence_transformers = {'activation_fn': 'torch.nn.modules.linear.Identity', 'version': '5.1.0'}
    return transformers.BertForSequenceClassification(config), tokenizer, specials


def xlm_roberta():
    tokenizer, specials, config = bert_family('XLMRoberta', 1, type_vocab_size=1)
    return transformers.XLMRobertaForSequenceClassification(config), tokenizer, specials


def distilbert():
    tokenizer, specials = wordpiece('[CLS]', '[SEP]', '[PAD]')
    config = transformers.DistilBertConfig(
        vocab_size=tokenizer.get_vocab_size(), pad_token_id=1, dim=64, n_layers=2, n_heads=4, hidden_dim=96,
        max_position_embeddings=128, id2label=labelled(3), problem_type='multi_label_classification',
    )  # fmt: skip
    return transformers.DistilBertForSequenceClassification(config), tokenizer, specials


def bert_tokens():
    tokenizer, specials, config = bert_family('Bert', 5)
    return transformers.BertForTokenClassification(config), tokenizer, specials


def roberta_spans():
    tokenizer, specials, config = bert_family('Roberta', 2, type_vocab_size=1)
    return transformers.RobertaForQuestionAnswering(config), tokenizer, specials


def deberta(kind, **more):
    tokenizer, specials = wordpiece('[CLS]', '[SEP]', '[PAD]')
    config = transformers.DebertaV2Config(
        vocab_size=tokenizer.get_vocab_size(), pad_token_id=1, relative_attention=True, position_biased_input=False,
        pos_att_type='p2c|c2p', **BERT, **more,
    )  # fmt: skip
    return getattr(transformers, f'DebertaV2For{kind}')(config), tokenizer, specials


def decoder(kind, labels, **more):
    tokenizer, specials = byte_level('<|endoftext|>')
    config = getattr(transformers, f'{kind}Config')(
        vocab_size=tokenizer.get_vocab_size(), intermediate_size=112, max_position_embeddings=512, pad_token_id=3,
        id2label=labelled(labels), **SMALL, **more,
    )  # fmt: skip
    return getattr(transformers, f'{kind}ForSequenceClassification')(config), tokenizer, specials


def modernbert():
    tokenizer, specials = wordpiece('[CLS]', '[SEP]', '[PAD]')
    config = transformers.ModernBertConfig(
        vocab_size=tokenizer.get_vocab_size(), intermediate_size=96, max_position_embeddings=256, pad_token_id=1,
        local_attention=12, layer_types=['full_attention', 'sliding_attention'], classifier_pooling='mean',
        classifier_bias=True, norm_bias=True, attention_bias=True, mlp_bias=True, id2label=labelled(1), **SMALL,
    )  # fmt: skip
    return transformers.ModernBertForSequenceClassification(config), tokenizer, specials


def gte():
    """GTE's reranker under transformers' names of its tensors, here with types of tokens beside the rotation."""
    tokenizer, specials, _ = bert_family('Bert', 1)
    rope = {'rope_type': 'default', 'rope_theta': 5000.0}
    sizes = dict(vocab_size=tokenizer.get_vocab_size(), pad_token_id=1, id2label=labelled(1), **BERT)
    config = transformers.GteConfig(rope_parameters=rope, type_vocab_size=2, **sizes)
    return transformers.GteForSequenceClassification(config), tokenizer, specials


JUDGE = '''{%- set told = messages | selectattr('role', 'eq', 'system') | map(attribute='content') | first -%}
Judge by: {{ told | default('relevance') }}
Query: {{ messages | selectattr("role", "eq", "query") | map(attribute="content") | first }}
{% for message in messages if message.role == 'document' %}Document: {{ message.content }}{% endfor %}
Answer:'''
#: Tokens whose logits make the score, and what the model is told to judge by.
SCORED = {'judge': (7, 11, 'the topic')}


def judge():
    """A language model with sentence-transformers' LogitScore module, as Qwen3-Reranker."""
    tokenizer, specials = byte_level('<|endoftext|>')
    config = transformers.Qwen3Config(
        vocab_size=tokenizer.get_vocab_size(), intermediate_size=112, max_position_embeddings=512, pad_token_id=3,
        num_key_value_heads=2, head_dim=16, tie_word_embeddings=True, **SMALL,
    )  # fmt: skip
    return transformers.Qwen3ForCausalLM(config), tokenizer, specials


def write_judge(folder, name):
    yes, no, told = SCORED[name]
    kinds = ['base.modules.transformer.Transformer', 'cross_encoder.modules.logit_score.LogitScore']
    write(folder, 'modules.json', [
        {'idx': at, 'name': str(at), 'path': path, 'type': f'sentence_transformers.{kind}'}
        for at, (path, kind) in enumerate(zip(['', '1_LogitScore'], kinds, strict=True))
    ])  # fmt: skip
    write(folder, '1_LogitScore/config.json', {
        'true_token_id': yes, 'false_token_id': no, 'module_input_name': 'causal_logits',
    })  # fmt: skip
    write(folder, 'config_sentence_transformers.json', {
        'model_type': 'CrossEncoder', 'prompts': {'usual': told}, 'default_prompt_name': 'usual',
        'activation_fn': 'torch.nn.modules.linear.Identity',
    })  # fmt: skip
    (folder / 'chat_template.jinja').write_text(JUDGE)


CASES = {
    'cross-encoder': cross_encoder,
    'xlm-roberta': xlm_roberta,
    'distilbert': distilbert,
    'bert-tokens': bert_tokens,
    'roberta-spans': roberta_spans,
    'modernbert': modernbert,
    'qwen3': lambda: decoder('Qwen3', 1, num_key_value_heads=2, head_dim=16, tie_word_embeddings=True),
    'neox': lambda: decoder('GPTNeoX', 3),
    'deberta': lambda: deberta(
        'SequenceClassification', position_buckets=16, max_relative_positions=40, norm_rel_ebd='layer_norm',
        share_att_key=True, id2label=labelled(1),
    ),
    'deberta-tokens': lambda: deberta('TokenClassification', max_relative_positions=24, id2label=labelled(3)),
    'judge': judge,
    'gte': gte,
    'deberta-conv': lambda: deberta(
        'SequenceClassification', position_buckets=16, max_relative_positions=40, conv_kernel_size=3, conv_act='gelu', id2label=labelled(3),
    ),
}


@torch.no_grad()
def make(name, seed):
    folder = ROOT / name
    shutil.rmtree(folder, ignore_errors=True)
    model, tokenizer, specials = CASES[name]()
    draws = draw(model, seed)
    model.to(torch.float32).save_pretrained(folder, save_original_format=name != 'gte')
    keep(folder / 'model.safetensors', draws)
    (folder / 'generation_config.json').unlink(missing_ok=True)
    tokenizer.save(str(folder / 'tokenizer.json'))
    write(folder, 'tokenizer_config.json', specials)
    if name in SCORED:
        write_judge(folder, name)
    model = type(model).from_pretrained(folder, dtype=torch.float32, attn_implementation='eager').eval()
    cases = [case(model, tokenizer, texts, SCORED.get(name)) for texts in [(text,) for text in TEXTS[:3]] + PAIRS]
    packages = {package: version(package) for package in ('torch', 'transformers', 'tokenizers')}
    write(folder, 'values.json', {
        'command': 'python scripts/reference/classifiers.py', 'made_with': packages, 'cases': cases,
    })  # fmt: skip


def case(model, tokenizer, texts, scored):
    if scored:
        return judged(model, tokenizer, texts, scored)
    encoding = tokenizer.encode(*texts)
    typed = getattr(model.config, 'type_vocab_size', 0) > 1
    types = {'token_type_ids': torch.tensor([encoding.type_ids])} if typed else {}
    values = model(torch.tensor([encoding.ids]), **types)
    values = torch.stack([values.start_logits, values.end_logits], -1) if 'start_logits' in values else values.logits
    tokenizer.enable_truncation(LIMIT)
    cut = tokenizer.encode(*texts).ids
    tokenizer.no_truncation()
    return {
        'texts': texts, 'ids': encoding.ids, 'types': encoding.type_ids, 'cut': cut,
        'values': [round(value, 6) for value in values.flatten().tolist()],
    }  # fmt: skip


def judged(model, tokenizer, texts, scored):
    yes, no, told = scored
    ids = tokenizer.encode(*texts).ids
    if len(texts) > 1:
        writer = transformers.PreTrainedTokenizerFast(tokenizer_object=tokenizer, chat_template=JUDGE)
        contents = zip(['system', 'query', 'document'], [told, *texts], strict=True)
        messages = [{'role': role, 'content': content} for role, content in contents]
        ids = writer.apply_chat_template(messages, add_generation_prompt=True, return_dict=False)
    logits = model(torch.tensor([ids])).logits[0, -1]
    values = [round((logits[yes] - logits[no]).item(), 6)]
    return {'texts': texts, 'ids': ids, 'types': [0] * len(ids), 'cut': [], 'values': values}


if __name__ == '__main__':
    for seed, name in enumerate(CASES):
        if name in (sys.argv[1:] or CASES):
            make(name, 100 + seed)
