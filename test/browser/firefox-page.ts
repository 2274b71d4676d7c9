// The script of the page of firefox.test.ts, after page.ts and shipped-page.ts: asks the server what to do, does it with the shipped models, and reports.

import type { AdapterSummary, ImageRequest } from '../../src/browser.ts';
import type { Drawn, Reply } from './shipped-page.ts';

export interface Task {
  questions: readonly string[];
  maxTokens: number;
  scene: ImageRequest;
}

/** What the page reports, by a request each; the last one is `end`. */
export type Report =
  | { type: 'adapters'; adapters: AdapterSummary[] }
  | { type: 'replies'; replies: Reply[] }
  | { type: 'drawn'; drawn: Drawn }
  | { type: 'error'; error: string }
  | { type: 'end' };

async function report(given: Report): Promise<void> {
  await fetch('/report', { method: 'POST', body: JSON.stringify(given) });
}

const reportError = (error: unknown): Promise<void> =>
  report({
    type: 'error',
    error: error instanceof Error ? `${String(error)}\n${error.stack}` : String(error),
  });

addEventListener('error', (event) => void reportError(event.error ?? event.message));
addEventListener('unhandledrejection', (event) => void reportError(event.reason));

async function perform({ questions, maxTokens, scene }: Task): Promise<void> {
  await report({ type: 'adapters', adapters: await svc.adapters() });
  globalThis.chat = await svc.openTextModel({ model: await shippedFiles('svc-chat-mini') });
  const replies: Reply[] = [];
  for (const question of questions) replies.push(await ask(question, maxTokens));
  await report({ type: 'replies', replies });
  await chat.close();
  globalThis.scenes = await svc.openImageModel({ model: await shippedFiles('svc-scenes-mini') });
  await report({ type: 'drawn', drawn: await draw(scene) });
  await scenes.close();
}

try {
  await perform((await (await fetch('/task')).json()) as Task);
} catch (error) {
  await reportError(error);
}
await report({ type: 'end' });
