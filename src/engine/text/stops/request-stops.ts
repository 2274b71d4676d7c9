// What ends the choices of a request. Expressions that take long to compile would hold up every running stream: another thread
// makes their tables.

import type { TextRequest } from '../text-request.ts';
import { stopPattern, type StopAutomata } from './stop-automaton.ts';
import { checkStopLength, quickStopTables, stopTables, type StopTable } from './stop-table.ts';
import { stopText } from './stop-text.ts';

/** `away`: see stopTables; null: there is no other thread. Throws bad_request. */
export async function stopsOf(
  { stop = [], stopRegex = [] }: TextRequest,
  away: ((patterns: readonly string[]) => Promise<StopTable[]>) | null,
): Promise<StopAutomata[]> {
  checkStopLength(stopRegex);
  const tables =
    quickStopTables(stopRegex) ?? (away === null ? stopTables(stopRegex) : await away(stopRegex));
  return [...stop.map(stopText), ...tables.map((table, i) => stopPattern(table, `stopRegex.${i}`))];
}
