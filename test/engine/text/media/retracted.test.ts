// Requests that are retracted when their computed tokens end inside a medium: the prefix that is found again ends there too, and the rest of
// the medium is computed anew. Tokens of an image of Gemma 3 see each other, and stand in one step.

import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { afterEach, expect, it, vi } from 'vitest';
import { Scheduler } from '../../../../src/engine/text/run/scheduler.ts';
import type { StepPart } from '../../../../src/engine/text/step/step-part.ts';
import { StepLauncher } from '../../../../src/engine/text/step/launch.ts';
import type { TextModel, TextRequest } from '../../../../src/engine/text/calls/text-model.ts';
import { requestOf, run, type Conversation } from './conversations.ts';
import { openMediaModel } from './media-golden.ts';
import { realtimeGolden, soundGolden, soundRequest } from './sound-golden.ts';

vi.setConfig({ testTimeout: 120_000 });
afterEach(() => void vi.restoreAllMocks());

const PAGE = 32;

interface Case {
  path: string;
  request: TextRequest;
  greedy: number[];
  /** Tokens behind the page that are computed before the request is retracted, where steps have few; left out: those of a step. */
  behind?: number;
}

const FOLDER = fileURLToPath(new URL('../../../golden/gemma3-media', import.meta.url));

function gemma(name: string, title: string): Case {
  const text = readFileSync(`${FOLDER}/${name}.json`, 'utf8');
  const one = (JSON.parse(text) as { conversations: Record<string, Conversation> }).conversations[title]!;
  return { path: `${FOLDER}/${name}`, request: requestOf(one), greedy: one.greedy };
}

function sound(name: string, title: string): Case {
  const golden = soundGolden(name);
  const one = golden.conversations.find((each) => each.name === title)!;
  return { path: golden.path, request: soundRequest(golden, one), greedy: one.greedy };
}

/** A sound that is heard while its text is written, whose page ends among the written tokens. */
function realtime(): Case {
  const { path, requestOf: ofSound, greedy } = realtimeGolden();
  return { path, request: ofSound(1), greedy: greedy[1]!, behind: 4 };
}

/**
 * Sends `urgent` when the first step that computes tokens behind `page` is launched; the next step waits until it has arrived. Returns the
 * parts with media, as they are launched.
 */
function interruptAfter(page: number, urgent: () => void): readonly StepPart[] {
  const seen: StepPart[] = [];
  const add = Scheduler.prototype.add;
  let arrive = (): void => {};
  let sent = false;
  vi.spyOn(Scheduler.prototype, 'add').mockImplementation(function (this: Scheduler, sequence) {
    add.call(this, sequence);
    if (sent) arrive();
  });
  const launch = StepLauncher.prototype.launch;
  vi.spyOn(StepLauncher.prototype, 'launch').mockImplementation(function (
    this: StepLauncher,
    parts,
    options,
  ) {
    const launched = launch.call(this, parts, options);
    const [{ first, rows, sequence }] = parts as [StepPart];
    if (sequence.request.media) seen.push(parts[0]!);
    if (sent || !sequence.request.media || first + rows < page) return launched;
    sent = true;
    const arrived = new Promise<void>((resolve) => (arrive = resolve));
    urgent();
    return { ...launched, submitted: Promise.all([launched.submitted, arrived]).then(() => {}) };
  });
  return seen;
}

it.each<[string, number, Case]>([
  ['Gemma 3', PAGE, gemma('whole', 'turns')],
  ['Gemma 3 with crops', 5 * PAGE, gemma('scan', 'one')],
  ['Qwen2-Audio', 2 * PAGE, sound('qwen2-audio', 'turns')],
  ['Voxtral', PAGE, sound('voxtral', 'turns')],
  ['Voxtral Realtime', PAGE, realtime()],
])(
  'requests retracted inside media of %s keep their tokens',
  async (_, page, { path, request, greedy, behind = 0 }) => {
    const model = await openMediaModel({ path }, { prefillChunk: 16, maxRunningRequests: 1 });
    try {
      const text: TextRequest = { prompt: { text: 'Hello' }, temperature: 0, maxTokens: 3, priority: 100 };
      let urgent: ReturnType<typeof run> | undefined;
      const parts = interruptAfter(page + behind, () => void (urgent = run(model, text)));
      expect((await run(model, request)).ids).toEqual(greedy);
      expect((await urgent!).ids).toHaveLength(3);
      expect((await model.metrics()).retractions).toBe(1);
      const resumed = parts.find(
        ({ first }, i) => i > 0 && first < parts[i - 1]!.first + parts[i - 1]!.rows,
      )!;
      expect(resumed.first).toBe(page);
      const { runs } = resumed.sequence.request.media!;
      expect(runs.some(({ first, end }) => first < page && page < end)).toBe(true);
    } finally {
      await model.close();
    }
  },
);

it('an image whose tokens see each other is never divided between steps that others decode in', async () => {
  const { path, request, greedy } = gemma('scan', 'one');
  const model = await openMediaModel(
    { path },
    { prefillChunk: 16, maxRunningRequests: 3, contextLength: 512 },
  );
  const divided: string[] = [];
  const launch = StepLauncher.prototype.launch;
  let shared = 0;
  vi.spyOn(StepLauncher.prototype, 'launch').mockImplementation(function (
    this: StepLauncher,
    parts,
    options,
  ) {
    for (const { sequence, first, rows } of parts) {
      const runs = sequence.request.media?.within(first, first + rows) ?? [];
      if (runs.length > 0 && parts.length > 2) shared++;
      for (const each of runs)
        if (each.first < first || each.end > first + rows) divided.push(`${first} + ${rows}`);
    }
    return launch.call(this, parts, options);
  });
  try {
    const decoding = ['one', 'other'].map((content) => decode(model, content));
    await Promise.all(decoding.map(({ begun }) => begun));
    expect((await run(model, request)).ids).toEqual(greedy);
    expect(divided).toEqual([]);
    expect(shared).toBeGreaterThan(0);
    for (const { stop } of decoding) stop();
    await Promise.all(decoding.map(({ ended }) => ended));
  } finally {
    await model.close();
  }
});

/** A request that decodes until it is stopped. */
function decode(model: TextModel, content: string) {
  const controller = new AbortController();
  const request: TextRequest = {
    prompt: { messages: [{ role: 'user', content }] },
    temperature: 0,
    maxTokens: 400,
    ignoreEos: true,
  };
  let begin = (): void => {};
  const begun = new Promise<void>((resolve) => (begin = resolve));
  const ended = (async () => {
    for await (const event of model.generate(request, { signal: controller.signal }))
      if (event.type === 'delta') begin();
  })();
  return { begun, ended, stop: () => controller.abort() };
}
