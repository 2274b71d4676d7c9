// Prompts of models that read sources: how replies begin, and what is too long.

import { expect, it } from 'vitest';
import { planReply } from '../../../../src/engine/text/output/reply-plan.ts';
import { renderPrompt } from '../../../../src/engine/text/request/prompt.ts';
import { createSequences } from '../../../../src/engine/text/request/sequences.ts';
import { PAGE_TOKENS } from '../../../../src/kernels/batch.ts';
import { preparedOf, smallContext } from './small-context.ts';

const context = smallContext();
const source = { tokens: 64, written: 8, begin: [5, 7], defaults: {}, left: [] };
const user = { role: 'user' as const, content: 'abc' };

it('a source has replies begin with what the request begins them with, in place of a forced token', async () => {
  const begun = async (content: string) => {
    const messages = [user, { role: 'assistant' as const, content }];
    return renderPrompt({ messages, continueFinal: true }, { ...context, source });
  };
  const usual = await renderPrompt({ messages: [user] }, { ...context, source });
  expect(usual.ids.slice(-2)).toEqual([5, 7]);
  const language = await begun('<|begin|>');
  expect(language).toMatchObject({ source: usual.source, said: '', begins: 'undecided' });
  expect(language.ids.slice(-2)).toEqual([5, 262]);
  const text = await begun('<|begin|>xy');
  expect(text).toMatchObject({ said: 'xy', begins: 'answer' });
  expect(text.ids.slice(-4)).toEqual([5, 262, 120, 121]);
  await expect(begun('xyxyxyx')).rejects.toThrow('begins with 8 tokens, and the model writes 8');
});

it('a source is refused by the number of its tokens, and of those for which there is room', async () => {
  const tight = { ...context, source, contextLength: 4 * PAGE_TOKENS };
  const prompt = { ids: Array<number>(3 * PAGE_TOKENS + 1).fill(97) };
  const rendered = await renderPrompt(prompt, { ...tight, source: { ...source, tokens: 8 * PAGE_TOKENS } });
  const prepared = { ...preparedOf(planReply({ prompt }, tight), []), prompt: rendered };
  expect(() => createSequences({ prompt }, prepared, tight, () => {})).toThrow(
    `${3 * PAGE_TOKENS + 1} tokens > ${3 * PAGE_TOKENS}, which the context holds with the reply: shorten the text`,
  );
});
