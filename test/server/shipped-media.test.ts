// Clients send images to the model that ships, each as its own documentation does, and get what they show: the pictures of the card of the
// image model that ships.

import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import Anthropic from '@anthropic-ai/sdk';
import { generateText, streamText } from 'ai';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Ollama } from 'ollama';
import type OpenAI from 'openai';
import { describe, expect, it } from 'vitest';
import { shippedImageModelPath } from '../../src/index.ts';
import { client, serveShipped, url } from './shipped.ts';

serveShipped();

const picture = (name: string): Buffer =>
  readFileSync(join(shippedImageModelPath(), 'pictures', `${name}.png`));
/** "a red balloon over snowy mountains at sunset" */
const BALLOON = picture('balloon');
/** "a yellow moon over the desert at night" */
const MOON = picture('moon');

const WHAT = 'What do you see in this picture?';
const WHERE = 'What kind of landscape is this?';
const dataUrl = (image: Buffer): string => `data:image/png;base64,${image.toString('base64')}`;

type Content = OpenAI.ChatCompletionContentPart[];
const shown = (image: Buffer, text: string): Content => [
  { type: 'image_url', image_url: { url: dataUrl(image) } },
  { type: 'text', text },
];

async function said(messages: OpenAI.ChatCompletionMessageParam[]): Promise<string> {
  const reply = await client.chat.completions.create({ model: 'default', temperature: 0, messages });
  return reply.choices[0]!.message.content!;
}

describe('the openai package', () => {
  it('asks what a picture shows, and goes on to ask about it', async () => {
    const first = { role: 'user' as const, content: shown(BALLOON, WHAT) };
    const description = await said([first]);
    expect(description).toMatch(/red balloon/i);
    expect(description).toMatch(/mountains/i);
    const second = { role: 'user' as const, content: 'What time of day is it?' };
    expect(await said([first, { role: 'assistant', content: description }, second])).toMatch(/sunset/i);
  });

  // Painted by scripts/train/vision/evaluate_lights.py, over the desert at night: only their forms tell them apart.
  it.each([
    ['yellow-moon', /a yellow moon\b/],
    ['white-star', /a white star\b/],
  ])('is told that a %s is one', async (name, light) => {
    const image = readFileSync(new URL(`../golden/lights/${name}.png`, import.meta.url));
    expect(await said([{ role: 'user', content: shown(image, WHAT) }])).toMatch(light);
  });

  it('is told the tokens of the image, and finds them in the cache', async () => {
    const messages = [{ role: 'user' as const, content: shown(MOON, WHERE) }];
    const ask = { model: 'default', temperature: 0, messages };
    const { usage } = await client.chat.completions.create(ask);
    expect(usage!.prompt_tokens_details).toMatchObject({ image_tokens: 16 });
    let text = '';
    for await (const chunk of await client.chat.completions.create({ ...ask, stream: true }))
      text += chunk.choices[0]?.delta.content ?? '';
    expect(text).toMatch(/desert/i);
  });

  it('sends images to /v1/responses', async () => {
    const content = [
      { type: 'input_image' as const, detail: 'auto' as const, image_url: dataUrl(MOON) },
      { type: 'input_text' as const, text: WHERE },
    ];
    const input = [{ role: 'user' as const, content }];
    const { output_text } = await client.responses.create({ model: 'default', temperature: 0, input });
    expect(output_text).toMatch(/desert/i);
  });

  it('reads in the list of models that this one takes images and nothing else', async () => {
    const { data } = await client.models.list();
    expect(data[0]).toMatchObject({ modalities: ['text', 'image'] });
  });
});

it('the ai package sends images, plain and streamed', async () => {
  const model = createOpenAICompatible({ name: 'svc', baseURL: `${url}/v1` })('default');
  const messages = (image: Buffer) => [
    {
      role: 'user' as const,
      content: [
        { type: 'image' as const, image },
        { type: 'text' as const, text: WHERE },
      ],
    },
  ];
  const settings = { model, temperature: 0, maxRetries: 0 };
  expect((await generateText({ ...settings, messages: messages(MOON) })).text).toMatch(/desert/i);
  expect(await streamText({ ...settings, messages: messages(BALLOON) }).text).toMatch(/mountains/i);
});

describe('@anthropic-ai/sdk', () => {
  const anthropic = () => new Anthropic({ baseURL: url, apiKey: 'unused', maxRetries: 0 });
  const ask = { model: 'default', temperature: 0, max_tokens: 60 };
  const block = (image: Buffer) => ({
    type: 'image' as const,
    source: { type: 'base64' as const, media_type: 'image/png' as const, data: image.toString('base64') },
  });
  const text = ({ content }: Anthropic.Message): string =>
    content.map((part) => (part.type === 'text' ? part.text : '')).join('');

  it('sends images, plain and streamed', async () => {
    const messages = (image: Buffer, question: string) => [
      { role: 'user' as const, content: [block(image), { type: 'text' as const, text: question }] },
    ];
    const whole = await anthropic().messages.create({ ...ask, messages: messages(BALLOON, WHAT) });
    expect(text(whole)).toMatch(/red balloon/i);
    const streamed = anthropic().messages.stream({ ...ask, messages: messages(MOON, WHERE) });
    expect(text(await streamed.finalMessage())).toMatch(/desert/i);
  });
});

it('the ollama package sends images to chat and generate', async () => {
  const ollama = new Ollama({ host: url });
  const ask = { model: 'default', options: { temperature: 0 } };
  const { message } = await ollama.chat({
    ...ask,
    messages: [{ role: 'user', content: WHAT, images: [BALLOON] }],
  });
  expect(message.content).toMatch(/red balloon/i);
  let text = '';
  const lines = await ollama.generate({
    ...ask,
    prompt: WHERE,
    images: [MOON.toString('base64')],
    stream: true,
  });
  for await (const line of lines) text += line.response;
  expect(text).toMatch(/desert/i);
});
