// The `ai` package against the model that ships: text, streams, tools with their results, objects of a schema.

import { createOpenAICompatible, type OpenAICompatibleProvider } from '@ai-sdk/openai-compatible';
import { generateText, Output, stepCountIs, streamText, tool } from 'ai';
import { beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { serveShipped, url } from '../shipped.ts';

serveShipped();

let model: ReturnType<OpenAICompatibleProvider>;
beforeAll(() => {
  const provider = createOpenAICompatible({
    name: 'svc',
    baseURL: `${url}/v1`,
    includeUsage: true,
    supportsStructuredOutputs: true,
  });
  model = provider('default');
});

const CAPITAL = 'What is the capital of France?';
const settings = () => ({ model, temperature: 0, maxOutputTokens: 80, maxRetries: 0 });

const get_weather = tool({
  strict: true,
  description: 'The weather of a city',
  inputSchema: z.object({ city: z.string() }),
  execute: async ({ city }) => `sunny in ${city}, 21 degrees`,
});

describe('the ai package', () => {
  it('generates and streams the same text, with its usage', async () => {
    const plain = await generateText({ ...settings(), prompt: CAPITAL });
    expect(plain.text).toContain('Paris');
    expect(plain.finishReason).toBe('stop');
    const stream = streamText({ ...settings(), prompt: CAPITAL });
    let text = '';
    for await (const piece of stream.textStream) text += piece;
    expect(text).toBe(plain.text);
    expect((await stream.usage).outputTokens).toBe(plain.usage.outputTokens);
    expect(plain.usage.outputTokens).toBeGreaterThan(3);
  });

  it.each(['plain', 'streamed'])('calls a tool, and goes on with what it gave: %s', async (kind) => {
    const asked = {
      ...settings(),
      tools: { get_weather },
      stopWhen: stepCountIs(2),
      prompt: 'What is the weather in Paris?',
    };
    const steps = kind === 'plain' ? (await generateText(asked)).steps : await streamText(asked).steps;
    expect(steps).toHaveLength(2);
    expect(steps[0]?.finishReason).toBe('tool-calls');
    expect(steps[0]?.toolCalls).toMatchObject([{ toolName: 'get_weather', input: { city: 'Paris' } }]);
    expect(steps[0]?.toolResults).toMatchObject([{ output: 'sunny in Paris, 21 degrees' }]);
    expect(steps[1]?.text).not.toBe('');
  });

  it('has objects of a schema made', async () => {
    const schema = z.object({ name: z.string().max(20), size: z.enum(['small', 'large']) });
    const { output } = await generateText({
      ...settings(),
      output: Output.object({ schema }),
      prompt: 'Tell me about Paris as JSON.',
    });
    expect(schema.parse(output)).toEqual(output);
  });

  it('tells the error that the server told', async () => {
    const refused = generateText({ ...settings(), temperature: 3, prompt: CAPITAL });
    await expect(refused).rejects.toMatchObject({
      statusCode: 400,
      message: expect.stringContaining('temperature'),
    });
  });
});
