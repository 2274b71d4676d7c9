// Prompts of Mistral's models against mistral-common (scripts/reference/mistral.py), and what differs from it.

import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { detectFormats } from '../../../src/engine/text/output/detect.ts';
import type { TemplateMessage } from '../../../src/files/template/template-messages.ts';
import { openChatTemplate } from '../../../src/files/template/template.ts';
import { tekkenFiles } from '../../../src/files/tokenizer/tekken.ts';

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
])('the Mistral template of version %s', (version, least) => {
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

  it('states the formats of replies', () => {
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

describe('the Mistral template beside what mistral-common takes', () => {
  const user = (content: string): TemplateMessage => ({ role: 'user', content });

  it('renders sounds beside a system message', () => {
    const content = [{ type: 'audio' }, { type: 'text', text: 'What?' }];
    const messages = [
      { role: 'developer', content: 'Short.' },
      { role: 'user', content },
    ];
    expect(templateOf('v7').render({ messages, media: MEDIA })).toBe(
      '<s>[SYSTEM_PROMPT]Short.[/SYSTEM_PROMPT][INST][BEGIN_AUDIO][AUDIO]What?[/INST]',
    );
    expect(() => templateOf('v7').render({ messages })).toThrow(
      /messages\.1\.content\.0 is a part of type "audio", and this model reads text only/,
    );
    const linked = [{ role: 'user', content: [{ type: 'audio_url' }] }];
    expect(() => templateOf('v7').render({ messages: linked, media: { audio: '[AUDIO]' } })).toThrow(
      'messages.0.content.0 is a part of type "audio_url", and this model reads parts of the types "text", "audio": send those',
    );
  });

  it('begins with the user in v3', () => {
    const messages = [
      { role: 'system', content: 'S' },
      { role: 'assistant', content: 'Hello ' },
    ];
    expect(templateOf('v3').render({ messages })).toBe('<s>[INST]S\n\n[/INST]Hello</s>');
    expect(templateOf('v7').render({ messages })).toBe('<s>[SYSTEM_PROMPT]S[/SYSTEM_PROMPT]Hello</s>');
  });

  it('shortens ids of calls where they are written', () => {
    const call = { id: 'call_0123456789', function: { name: 'ping', arguments: 'no JSON' } };
    const messages = [
      user('A'),
      { role: 'assistant', content: 'B', tool_calls: [call] },
      { role: 'tool', tool_call_id: call.id, content: 'pong' },
    ];
    const text = templateOf('v11').render({ messages });
    const [, id, answered] =
      /\[TOOL_CALLS\]ping\[CALL_ID\](\w{9})\[ARGS\]"no JSON"<\/s>\[TOOL_RESULTS\](\w{9})\[TOOL_CONTENT\]pong/.exec(
        text,
      )!;
    expect(id).toBe(answered);
    expect(templateOf('v3').render({ messages })).toBe(
      `<s>[INST]A[/INST]B[TOOL_CALLS][{"name": "ping", "arguments": "no JSON", "id": "${id}"}]</s>[TOOL_RESULTS]{"content": "pong", "call_id": "${id}"}[/TOOL_RESULTS]`,
    );
  });

  it('leaves reasoning out where its marks are not tokens', () => {
    const messages = [user('A'), { role: 'assistant', reasoning_content: 'R', content: 'B ' }, user('C')];
    expect(templateOf('v13').render({ messages })).toBe(
      '<s>[INST]A[/INST][THINK]R[/THINK]B </s>[INST]C[/INST]',
    );
    const renamed = file.special_tokens.map((token) => ({
      ...token,
      token_str: token.token_str.replace('THINK', 'OTHER'),
    }));
    const bare = templateOf('v13', { special_tokens: renamed });
    expect(bare.render({ messages })).toBe('<s>[INST]A[/INST]B</s>[INST]C[/INST]');
  });

  it('uses a template where there is one', () => {
    const { roles, chat } = filesOf('v11');
    const template = openChatTemplate({ default: '{{ bos_token }}{{ messages[0].content }}' }, roles, chat);
    expect(template.render({ messages: [user('A')] })).toBe('<s>A');
  });

  it('refuses versions and efforts that are not known, and a tokenizer without the tokens of its version', () => {
    expect(templateOf('v99').problem?.message).toMatch(
      /has version v99, and conversations are rendered for v3, v7, v11, v13, v15: put a chat_template\.jinja/,
    );
    expect(() => templateOf('v99').render({ messages: [user('A')] })).toThrow(/has version v99/);
    const rendering = { messages: [user('A')], kwargs: { reasoning_effort: 'low' } };
    expect(() => templateOf('v15').render(rendering)).toThrow(
      /reasoning_effort is "low", and this model takes none, high: send one of these/,
    );
    expect(() => templateOf('v15').render({ ...rendering, kwargs: { tools: [] } })).toThrow(/is not free/);
    const fewer = templateOf('v11', { special_tokens: file.special_tokens.slice(0, 27) });
    expect(fewer.problem?.message).toMatch(/lacks the special token \[CALL_ID\], which .* version v11 have/);
  });
});
