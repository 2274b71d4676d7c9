// What ends the choices of a request. Expressions that take long to compile would hold up every running stream: another thread
// makes their tables.

import type { LongTextEncoder } from './long-text.ts';
import type { TextRequest } from './text-request.ts';
import { stopPattern, type StopAutomata } from '../../grammar/stops/stop-automaton.ts';
import { checkStopLength, quickStopTables, stopTables } from '../../grammar/stops/stop-table.ts';
import { stopText } from '../../grammar/stops/stop-text.ts';

/** `away`: see stopTables; null: there is no other thread. Throws bad_request. */
export async function stopsOf(
  { stop = [], stopRegex = [] }: TextRequest,
  away: LongTextEncoder['stops'] | null,
  signal?: AbortSignal,
): Promise<StopAutomata[]> {
  checkStopLength(stopRegex);
  const tables =
    quickStopTables(stopRegex) ?? (away === null ? stopTables(stopRegex) : await away(stopRegex, signal));
  return [...stop.map(stopText), ...tables.map((table, i) => stopPattern(table, `stopRegex.${i}`))];
}
