// Log lines while a model opens, if standard error is not a terminal.

import type { ConsolaInstance } from 'consola';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { showOpening } from '../../../src/cli/process/progress.ts';
import type { OpenEvent } from '../../../src/index.ts';

beforeEach(() => void vi.useFakeTimers({ toFake: ['performance'] }));
afterEach(() => void vi.useRealTimers());

/** Returns the lines that are logged for events with the given pause between them, in milliseconds. */
function said(pause: number, events: OpenEvent[]): string[] {
  const lines: string[] = [];
  const log = { info: (line: string) => void lines.push(line) } as unknown as ConsolaInstance;
  const { event } = showOpening(log);
  for (const one of events) {
    vi.advanceTimersByTime(pause);
    event(one);
  }
  return lines;
}

const kernels = (total: number, stage?: string): OpenEvent[] =>
  Array.from({ length: total + 1 }, (_, done) => ({ type: 'warmup', done, total, ...(stage && { stage }) }));

it('progress of compiling a language model shows how many kernels, once at least', () => {
  expect(said(1, kernels(20))).toEqual(['Preparing kernels: 20 of 20']);
});

it('progress of compiling a stage shows nothing if it takes little time', () => {
  expect(said(1, [...kernels(8, 'text-encoding'), ...kernels(20, 'denoising')])).toEqual([]);
});

it('progress of compiling a stage that takes long shows how far it is, for each batch anew', () => {
  const events = [...kernels(1, 'denoising'), ...kernels(4, 'denoising'), ...kernels(2, 'decoding')];
  expect(said(2500, events)).toEqual([
    'Preparing kernels of denoising: 1 of 1',
    ...[1, 2, 3, 4].map((done) => `Preparing kernels of denoising: ${done} of 4`),
    ...[1, 2].map((done) => `Preparing kernels of decoding: ${done} of 2`),
  ]);
});

it('progress of a search for the fastest kernels shows how far it is, for each search anew', () => {
  const search = (total: number, most = total): OpenEvent[] =>
    Array.from({ length: most + 1 }, (_, done) => ({ type: 'tune', done, total, stage: 'denoising' }));
  expect(said(2500, [...search(20, 7), ...search(2)])).toEqual([
    ...[1, 2, 4, 6].map((done) => `Finding the fastest kernels of denoising: ${done} of 20`),
    ...[1, 2].map((done) => `Finding the fastest kernels of denoising: ${done} of 2`),
  ]);
});

it('notes are lines, and warnings where what was asked for is not done so', () => {
  const lines: [string, string][] = [];
  const log = {
    info: (line: string) => void lines.push(['info', line]),
    warn: (line: string) => void lines.push(['warn', line]),
  } as unknown as ConsolaInstance;
  const { event } = showOpening(log);
  event({ type: 'note', message: 'as it is' });
  event({ type: 'note', message: 'not as asked', isWarning: true });
  expect(lines).toEqual([
    ['info', 'as it is'],
    ['warn', 'not as asked'],
  ]);
});
