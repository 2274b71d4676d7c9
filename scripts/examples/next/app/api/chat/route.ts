// A route of Next.js for useChat(): the model runs in the server's own process, by the AI SDK.

import { convertToModelMessages, stepCountIs, streamText, tool, type UIMessage } from 'ai';
import { openTextModel, shippedModelPath } from 'svc-engine';
import { languageModel } from 'svc-engine/ai';
import { z } from 'zod';

export const runtime = 'nodejs';

/** Opened by the first request; SVC_MODEL is a folder or a hub id. */
const model = languageModel(() =>
  openTextModel({ model: process.env['SVC_MODEL'] ?? shippedModelPath(), sleepAfter: 600_000 }),
);

const forecasts: Record<string, string> = { Paris: 'light rain', Tokyo: 'sunny' };

const get_weather = tool({
  description: 'The weather in a city',
  inputSchema: z.object({ city: z.string() }),
  execute: ({ city }) => ({ weather: forecasts[city] ?? 'unknown' }),
});

export async function POST(request: Request): Promise<Response> {
  const { messages } = (await request.json()) as { messages: UIMessage[] };
  const result = streamText({
    model,
    messages: await convertToModelMessages(messages),
    tools: { get_weather },
    stopWhen: stepCountIs(5),
    temperature: 0,
    maxOutputTokens: 500,
    abortSignal: request.signal,
  });
  return result.toUIMessageStreamResponse();
}
