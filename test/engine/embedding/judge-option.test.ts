// A language model without modules.json that is opened to judge, and one that is not.

import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import type { EmbeddingModel, EmbeddingRequest } from '../../../src/engine/embedding/embedding-model.ts';
import { shippedModelPath } from '../../../src/files/shipped.ts';
import { openAny, openEmbeddingModel } from '../../../src/host/node/open.ts';
import { planModel } from '../../../src/host/node/plan.ts';

const GOLDEN = fileURLToPath(new URL('../../golden/classifiers/', import.meta.url));

const jsonOf = (name: string, file: string): unknown =>
  JSON.parse(readFileSync(join(GOLDEN, name, file), 'utf8'));

async function valuesOf(model: EmbeddingModel, request: EmbeddingRequest): Promise<Float32Array[]> {
  const values: Float32Array[] = [];
  for await (const event of model.generate(request))
    if (event.type === 'embedding') values[event.index] = event.values;
  return values;
}

describe('a language model without files that say how it ranks', () => {
  const ROLES = `{% for message in messages %}<{{ message.role }}>{{ message.content }}
{% endfor %}{% if add_generation_prompt %}<answer>{% if enable_thinking is false %}<think></think>{% endif %}{% endif %}`;

  /** The golden of a judge without its modules; its last two tokens are "yes" and "no". */
  function plainFolder(): { folder: string; answers: number[] } {
    const folder = mkdtempSync(join(tmpdir(), 'svc-judge-'));
    cpSync(join(GOLDEN, 'judge'), folder, { recursive: true });
    for (const name of ['modules.json', 'config_sentence_transformers.json', '1_LogitScore'])
      rmSync(join(folder, name), { recursive: true });
    writeFileSync(join(folder, 'chat_template.jinja'), ROLES);
    const tokenizer = jsonOf('judge', 'tokenizer.json') as {
      model: { vocab: Record<string, number>; merges: unknown[] };
      added_tokens: object[];
    };
    const { vocab, merges } = tokenizer.model;
    const answers = ['yes', 'no'].map((content) => {
      const id = Object.keys(vocab).length - 1;
      delete vocab[Object.keys(vocab).find((token) => vocab[token] === id)!];
      merges.pop();
      const flags = { single_word: false, lstrip: false, rstrip: false, normalized: false, special: false };
      tokenizer.added_tokens.push({ id, content, ...flags });
      return id;
    });
    writeFileSync(join(folder, 'tokenizer.json'), JSON.stringify(tokenizer));
    return { folder, answers };
  }

  it('judges by its answers if it is opened so, and makes vectors that do not rank otherwise', async () => {
    const { folder, answers } = plainFolder();
    const options = { model: folder, safe: true, memoryBudget: 2 ** 29, inline: true };
    const [query, document] = ['a cat', 'the kitten rests'];
    const opened = await openAny({ ...options, judge: true });
    if (opened.kind !== 'embedding') throw new Error(`it is opened as ${opened.kind}`);
    const judge = opened.model;
    expect(judge.info.classifier).toMatchObject({ per: 'text', activation: 'sigmoid' });
    const ask =
      'Judge whether the Document meets the requirements based on the Query and the Instruct provided. ';
    const written = `<system>${ask}Note that the answer can only be "yes" or "no".\n<user><Instruct>: the topic\n<Query>: ${query}\n<Document>: ${document}\n<answer><think></think>`;
    const ids = await judge.tokenize(written, { addSpecialTokens: false });
    const byIds = (await valuesOf(judge, { inputs: [ids] }))[0]![0];
    expect(await judge.score(query, [document], { instruction: 'the topic' })).toEqual([byIds]);
    await judge.close();

    const plan = await planModel({ model: folder, memoryBudget: 2 ** 29, judge: true });
    expect(plan).toMatchObject({ kind: 'embedding', opens: true });
    expect(plan.choices[0]!.weights).toBe(judge.info.memory.weights);
    const notes: string[] = [];
    const plain = await openEmbeddingModel(options, (event) => {
      if (event.type === 'note') notes.push(event.message);
    });
    expect(notes.join()).toMatch(/no modules\.json says that it makes vectors/);
    expect(await plain.embed('a cat')).toHaveLength(64);
    await expect(plain.rank(query, [document])).rejects.toMatchObject({
      code: 'unsupported',
      message: expect.stringMatching(/do not say how it ranks: open it with `judge`/) as string,
    });
    await plain.close();

    const [yes, no] = answers;
    mkdirSync(join(folder, '1_LogitScore'));
    const modules = [{ type: 'Transformer' }, { type: 'LogitScore', path: '1_LogitScore' }];
    writeFileSync(join(folder, 'modules.json'), JSON.stringify(modules));
    const score = { true_token_id: yes, false_token_id: no };
    writeFileSync(join(folder, '1_LogitScore', 'config.json'), JSON.stringify(score));
    writeFileSync(join(folder, 'chat_template.jinja'), '{# query document #}"query" "document"');
    await using stated = await openEmbeddingModel(options);
    expect((await valuesOf(stated, { inputs: [ids] }))[0]![0]).toBe(byIds);
    rmSync(folder, { recursive: true });
  });

  it('is refused with what the option is for where it cannot judge', async () => {
    const opened = openEmbeddingModel({ model: shippedModelPath(), inline: true, judge: true });
    await expect(opened).rejects.toThrow(
      /which does not make embeddings: `judge` is for rerankers of classes .*; leave it out to chat: `openTextModel` opens it$/,
    );
  });

  it('is refused where an answer is no token', async () => {
    const { folder } = plainFolder();
    cpSync(join(GOLDEN, 'judge', 'tokenizer.json'), join(folder, 'tokenizer.json'));
    const opened = openEmbeddingModel({ model: folder, inline: true, judge: true });
    await expect(opened).rejects.toMatchObject({ code: 'unsupported', param: 'judge' });
    rmSync(folder, { recursive: true });
  });
});
