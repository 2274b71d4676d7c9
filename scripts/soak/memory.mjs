// Memory and open files of a server's process, as its probe (probe.mjs) reports them.

import { once } from 'node:events';
import { readdirSync } from 'node:fs';

/** Memory in MB after a garbage collection: resident memory, the heaps of all threads together and by thread; and how many files are open. */
export async function measured(server) {
  const answered = once(server.child, 'message', { signal: AbortSignal.timeout(30_000) });
  server.child.send('measure');
  const [{ rss, threads }] = await answered;
  const parts = Object.fromEntries(
    threads.flatMap(({ thread, heapUsed, arrayBuffers }) => [
      [`objects of thread ${thread}`, heapUsed / 1e6],
      [`buffers of thread ${thread}`, arrayBuffers / 1e6],
    ]),
  );
  const heap = Object.values(parts).reduce((sum, part) => sum + part, 0);
  return { rss: rss / 1e6, heap, parts, files: openFiles(server.pid) };
}

/** Number of open files and connections; only Linux tells. */
function openFiles(pid) {
  return process.platform === 'linux' ? readdirSync(`/proc/${pid}/fd`).length : 0;
}

/** A line for each part of the heap that changed, with its MB in each sample. */
export function partsText(samples) {
  const names = [...new Set(samples.flatMap(({ parts }) => Object.keys(parts)))];
  const sizes = names.map((name) => [name, samples.map(({ parts }) => (parts[name] ?? 0).toFixed(1))]);
  const changed = sizes.filter(([, list]) => new Set(list).size > 1);
  return changed.map(([name, list]) => `        ${name}: ${list.join(' ')}`).join('\n');
}
