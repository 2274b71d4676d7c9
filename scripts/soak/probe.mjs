// Loaded into the server before anything else (node --import): asked by its parent, it says how much heap each of its threads
// holds once garbage is gone.

import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { BroadcastChannel, isMainThread, threadId } from 'node:worker_threads';

const WAIT = 2000; // ms that busy threads get to answer

setFlagsFromString('--expose-gc');
const gc = runInNewContext('gc');
const channel = new BroadcastChannel('svc-soak-heap');
channel.unref();

async function measure() {
  gc();
  await new Promise((resolve) => setTimeout(resolve, 100)); // buffers are given back in the background
  gc();
  const { heapUsed, arrayBuffers } = process.memoryUsage();
  return { thread: threadId, heapUsed, arrayBuffers };
}

if (isMainThread) {
  process.on('message', () => void answer());
  process.channel?.unref();
} else {
  channel.onmessage = ({ data }) => {
    if (data === 'measure') void measure().then((measured) => channel.postMessage(measured));
  };
}

/** Sends the memory of the process and of its threads. */
async function answer() {
  const threads = [];
  channel.onmessage = ({ data }) => data !== 'measure' && threads.push(data);
  channel.postMessage('measure');
  threads.push(await measure());
  await new Promise((resolve) => setTimeout(resolve, WAIT));
  process.send({ rss: process.memoryUsage.rss(), threads });
}
