// Prompts of Mistral's models against mistral-common (scripts/reference/mistral.py), and what differs from it.

import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { detectFormats } from '../../../src/engine/text/output/detect.ts';
import type { TemplateMessage } from '../../../src/files/template/template-messages.ts';
import { openChatTemplate } from '../../../src/files/template/template.ts';
import { tekkenFiles } from '../../../src/files/tokenizer/tekken.ts';
import { openTokenizer } from '../../../src/files/tokenizer/tokenizer.ts';

interface Conversation {
  messages: TemplateMessage[];
  tools?: object[];
  effort?: string;
  /** Version → prompt; versions that refuse the conversation are left out. */
  prompts: Record<string, string>;
}

const read = (name: string): unknown =>
  JSON.parse(readFileSync(new URL(`../../golden/tekken/${name}`, import.meta.url), 'utf8'));
const golden = read('conversations.json') as Conversation[];
const file = read('tekken.json') as { config: object; special_tokens: { rank: number; token_str: string }[] };
const MEDIA = { image: '[IMG]', audio: '[BEGIN_AUDIO][AUDIO]' };
const EFFORTS = { reasoning_effort: { values: ['none', 'high'], accepts_none: true, default: 'none' } };

const filesOf = (version: string, others: object = {}) =>
  tekkenFiles({
    ...file,
    ...{ config: { ...file.config, version }, model_settings_builder: EFFORTS },
    ...others,
  });
const templateOf = (version: string, others?: object) => {
  const { roles, chat } = filesOf(version, others);
  return openChatTemplate(null, roles, chat);
};

describe.each([
  ['v3', 25],
  ['v7', 35],
  ['v11', 35],
  ['v13', 40],
  ['v15', 40],
])('version %s', (version, least) => {
  const template = templateOf(version);

  it('renders conversations as mistral-common does', () => {
    const told = golden.filter(({ prompts }) => prompts[version] !== undefined);
    expect(told.length).toBeGreaterThanOrEqual(least);
    for (const { messages, tools, effort, prompts } of told) {
      const kwargs = version === 'v15' && effort !== undefined ? { reasoning_effort: effort } : {};
      const rendering = { messages, ...(tools && { tools }), media: MEDIA, kwargs };
      expect(template.render(rendering)).toBe(prompts[version]);
      expect(template.render(structuredClone(template.portable(rendering)))).toBe(prompts[version]);
    }
  });

  it('tells the formats of replies', () => {
    expect(template.problem).toBeNull();
    expect(template.reads('tools')).toBe(true);
    expect(template.reads('reasoning_effort')).toBe(version === 'v15');
    const thinks = ['v13', 'v15'].includes(version);
    expect(detectFormats(template.source, () => false)).toEqual({
      tools: ['v3', 'v7'].includes(version) ? 'mistral_json' : 'mistral',
      reasoning: thinks ? 'mistral' : null,
    });
  });
});
