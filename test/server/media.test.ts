// Images through the server and the engine: clients send them on each interface, and a tiny random Qwen2.5-VL answers with the tokens that
// transformers computes. What is refused changes nothing for the requests after it.

import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import Anthropic from '@anthropic-ai/sdk';
import { generateText } from 'ai';
import OpenAI from 'openai';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { encodeImage, type TextModel } from '../../src/index.ts';
import { type RunningServer, startServer } from '../../src/server/lifecycle.ts';
import {
  type MediaCase,
  type MediaGolden,
  openMediaGolden,
  openMediaModel,
} from '../engine/text/media/media-golden.ts';
import { checkReplies } from './docs/checked-replies.ts';

let golden: MediaGolden;
let model: TextModel;
let server: RunningServer;
let endChecks = (): void => {};
let openai: OpenAI;
/** The images in base64. */
let files: string[] = [];

beforeAll(async () => {
  golden = await openMediaGolden('qwen2-5-vl');
  const encoded = await Promise.all(golden.images.map((image) => encodeImage(image, { format: 'png' })));
  files = encoded.map((file) => Buffer.from(file).toString('base64'));
  const log = { error: console.error, warn() {}, info() {}, debug() {} };
  server = await startServer({ host: '127.0.0.1', port: 0, media: { maxMediaBytes: 50_000 } }, log);
  endChecks = checkReplies(server.url);
  openai = new OpenAI({ baseURL: `${server.url}/v1`, apiKey: 'unused', maxRetries: 0, timeout: 50_000 });
  model = await openMediaModel(golden, { maxImagePixels: 5000 });
  server.addModel().ready(model);
}, 120_000);

afterAll(async () => {
  await server?.close();
  endChecks();
  await model?.close();
});

const caseOf = (name: string): MediaCase => golden.cases.find((one) => one.name === name)!;
const url = (image: number): string => `data:image/png;base64,${files[image]}`;

const SAMPLING = { temperature: 0, ignore_eos: true, skip_special_tokens: false };

function chatRequest({ messages, images, greedy }: MediaCase) {
  const order = [...images];
  return {
    model: 'default',
    messages: messages.map(({ role, content }) => ({
      role,
      content:
        typeof content === 'string'
          ? content
          : content.map((part) =>
              part === 'image'
                ? { type: 'image_url', image_url: { url: url(order.shift()!) } }
                : { type: 'text', text: part },
            ),
    })) as OpenAI.ChatCompletionMessageParam[],
    max_completion_tokens: greedy.length,
    ...SAMPLING,
    return_token_ids: true,
    return_prompt_token_ids: true,
  };
}

interface WithIds {
  token_ids: number[];
  prompt_token_ids: number[];
}

async function ids(one: MediaCase): Promise<WithIds & { usage: OpenAI.CompletionUsage }> {
  const { choices, usage } = await openai.chat.completions.create(chatRequest(one));
  return { ...(choices[0] as unknown as WithIds), usage: usage! };
}

const imageTokens = ({ ids: all }: MediaCase): number => all.filter((id) => id === 261).length;

const send = async (path: string, body: object) => {
  const response = await fetch(server.url + path, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  return { status: response.status, body: (await response.json()) as Record<string, never> };
};

describe('chat completions with media', () => {
  it('have the ids and the tokens of transformers, and count those of images', async () => {
    for (const one of golden.cases) {
      const { prompt_token_ids, token_ids, usage } = await ids(one);
      expect(prompt_token_ids).toEqual(one.ids);
      expect(token_ids, one.name).toEqual(one.greedy);
      expect(usage).toMatchObject({
        prompt_tokens: one.ids.length,
        ...(imageTokens(one) > 0 && { prompt_tokens_details: { image_tokens: imageTokens(one) } }),
      });
    }
  });

  it('stream the same, and find an equal image in the cache', async () => {
    const one = caseOf('several');
    const stream = await openai.chat.completions.create({
      ...chatRequest(one),
      stream: true,
      stream_options: { include_usage: true },
    });
    const tokens: number[] = [];
    let usage: OpenAI.CompletionUsage | null | undefined;
    for await (const chunk of stream) {
      tokens.push(...((chunk.choices[0] as unknown as Partial<WithIds>)?.token_ids ?? []));
      usage = chunk.usage ?? usage;
    }
    expect(tokens).toEqual(one.greedy);
    expect(usage!.prompt_tokens_details!.cached_tokens).toBeGreaterThan(imageTokens(one));
  });

  it('/tokenize has the same ids', async () => {
    const one = caseOf('several');
    const { messages } = chatRequest(one);
    expect((await send('/tokenize', { messages })).body['tokens']).toEqual(one.ids);
  });
});

describe('media of other clients', () => {
  /** The text of the answer to `one` with these limits. */
  async function textOf(one: MediaCase): Promise<string> {
    const { choices } = await openai.chat.completions.create(chatRequest(one));
    return choices[0]!.message.content!;
  }

  it('of responses', async () => {
    const one = caseOf('one');
    const content = [
      { type: 'input_image' as const, image_url: url(0), detail: 'auto' as const },
      { type: 'input_text' as const, text: 'What is this?' },
    ];
    const response = await openai.responses.create({
      model: 'default',
      input: [{ role: 'user', content }],
      max_output_tokens: one.greedy.length,
      ...SAMPLING,
    });
    expect(response.output_text).toBe(await textOf(one));
    expect(response.usage!.input_tokens).toBe(one.ids.length);
  });

  it("of Anthropic's messages", async () => {
    const client = new Anthropic({ baseURL: server.url, apiKey: 'unused', maxRetries: 0, timeout: 50_000 });
    const source = { type: 'base64' as const, media_type: 'image/png' as const, data: files[0]! };
    const messages: Anthropic.MessageParam[] = [
      {
        role: 'user',
        content: [
          { type: 'image', source },
          { type: 'text', text: 'What is this?' },
        ],
      },
    ];
    const { usage, content } = await client.messages.create({
      model: 'default',
      max_tokens: 4,
      messages,
    });
    const { input_tokens: tokens } = await client.messages.countTokens({ model: 'default', messages });
    expect(tokens).toBe(caseOf('one').ids.length);
    expect(usage.input_tokens + (usage.cache_read_input_tokens ?? 0)).toBe(tokens);
    expect(content.length).toBe(1);
  });

  it('of the ai package', async () => {
    const provider = createOpenAICompatible({ name: 'svc', baseURL: `${server.url}/v1`, includeUsage: true });
    const content = [
      { type: 'image' as const, image: Buffer.from(files[0]!, 'base64') },
      { type: 'text' as const, text: 'What is this?' },
    ];
    const { usage } = await generateText({
      model: provider('default'),
      messages: [{ role: 'user', content }],
      maxOutputTokens: 4,
      maxRetries: 0,
    });
    expect(usage.inputTokens).toBe(caseOf('one').ids.length);
  });

  it("of Ollama's chat", async () => {
    const messages = [{ role: 'user', content: 'What is this?', images: [files[0]!] }];
    const options = { temperature: 0, num_predict: 4 };
    const { status, body } = await send('/api/chat', { model: 'default', stream: false, messages, options });
    expect([status, body['prompt_eval_count']]).toEqual([200, caseOf('one').ids.length]);
    const { body: shown } = await send('/api/show', { model: 'default' });
    expect(shown['capabilities']).toContain('vision');
  });
});

describe('a refused medium', () => {
  const FIELD = 'messages.0.content.0.image_url.url';
  const file = (at: number): Buffer => Buffer.from(files[at]!, 'base64');
  const inline = (bytes: Buffer): string => `data:image/png;base64,${bytes.toString('base64')}`;
  /** A header that states another width. */
  const widened = (width: number): Buffer => {
    const bytes = file(0);
    bytes.writeUInt32BE(width, 16);
    return bytes;
  };

  it.each<[string, () => string, string, string?]>([
    [
      'an image that is too large',
      () => inline(widened(100_000)),
      'above the limit of 5000 (--max-image-pixels)',
    ],
    ['one that is cut off', () => inline(file(0).subarray(0, 60)), 'the file is damaged or cut off'],
    ['text', () => inline(Buffer.from('no image')), 'cannot be read as an image (no known format)'],
    ['a sound', () => inline(Buffer.from('RIFF....WAVE')), 'is a WAV file, a sound and not an image'],
    ['too many bytes', () => inline(Buffer.alloc(50_001)), '--max-media-bytes', 'request_too_large'],
    ['a private address', () => `${server.url}/openapi.json`, 'without --allow-private-media'],
    ['a file of the server', () => 'file:///etc/hostname', 'without --allowed-media-path'],
  ])('%s, under the name of its field, before and while others run', async (_, address, message, code) => {
    const one = caseOf('one');
    const running = ids(one);
    const content = [
      { type: 'image_url' as const, image_url: { url: address() } },
      { type: 'text' as const, text: 'What?' },
    ];
    const refused = openai.chat.completions.create({
      model: 'default',
      messages: [{ role: 'user', content }],
    });
    await expect(refused).rejects.toMatchObject({
      status: code === 'request_too_large' ? 413 : 400,
      param: FIELD,
      message: expect.stringContaining(message) as string,
    });
    expect((await running).token_ids).toEqual(one.greedy);
  });

  it('a kind that the model does not take, and tiles of a model that makes none', async () => {
    const sound = { type: 'input_audio' as const, input_audio: { data: 'UklGRg==', format: 'wav' as const } };
    const messages: OpenAI.ChatCompletionMessageParam[] = [{ role: 'user', content: [sound] }];
    await expect(openai.chat.completions.create({ model: 'default', messages })).rejects.toMatchObject({
      status: 400,
      code: 'unsupported',
      param: 'messages.0.content.0.input_audio.data',
    });
    const tiled = { ...chatRequest(caseOf('one')), max_dynamic_patch: 4 };
    await expect(openai.chat.completions.create(tiled)).rejects.toMatchObject({
      status: 400,
      param: 'max_dynamic_patch',
    });
  });
});
