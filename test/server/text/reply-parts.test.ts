import { expect, it } from 'vitest';
import { createPendingParts, type ReplyPart } from '../../../src/server/text/reply-parts.ts';

type Event = Parameters<ReturnType<typeof createPendingParts>['add']>[0];

/** Pseudo-random numbers, the same for the same seed. */
function randomOf(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

function randomEvents(random: (below: number) => number): Event[] {
  const calls = [-1, -1];
  return Array.from({ length: 200 }, (_, id): Event => {
    const choice = random(2);
    const logprobs = [{ id, bytes: [id], logprob: -id, top: [] }];
    const common = { choice, ids: [id], logprobs };
    const text = random(4) === 0 ? '' : `${id} `;
    const kind = random(4);
    if (kind < 2) return { type: kind === 0 ? 'delta' : 'reasoning', text, ...common };
    const begins = kind === 2 || (calls[choice] ?? -1) < 0;
    if (begins) calls[choice] = (calls[choice] ?? -1) + 1;
    const call = calls[choice] ?? 0;
    const begin = begins && { id: `call_${call}`, name: `f${call}` };
    return { type: 'toolCall', call, ...begin, arguments: text, ...common };
  });
}

/** Returns a choice's output as a client merges it from parts: its texts in order, by kind and call. */
function told(parts: [number, ReplyPart][], choice: number): string {
  let kind = '';
  let text = '';
  for (const [, part] of parts.filter(([index]) => index === choice)) {
    const next = part.kind === 'call' ? `\n[${part.id} ${part.name}]` : '';
    const said = part.kind === 'call' ? '' : part.text;
    const own = part.kind === 'call' || part.kind === 'arguments' ? `call ${part.call}` : part.kind;
    if (own !== kind && said + next !== '') text += `\n${own}: `;
    if (said + next !== '') kind = own;
    text += next + said;
  }
  return text;
}

it('pending parts hold the same text however far the reader is behind', () => {
  for (let seed = 1; seed <= 50; seed++) {
    const random = randomOf(seed);
    const events = randomEvents(random);
    const sendAll = (pause: () => boolean): [number, ReplyPart][] => {
      const held = createPendingParts();
      const sent = events.flatMap((event) => {
        held.add(event);
        return pause() ? [] : held.take();
      });
      return [...sent, ...held.take()];
    };
    const atOnce = sendAll(() => false);
    const behind = sendAll(() => random(10) > 0);
    expect(behind.length).toBeLessThan(atOnce.length);
    for (const choice of [0, 1]) {
      expect(told(behind, choice)).toBe(told(atOnce, choice));
      const ids = events.filter((event) => event.choice === choice).flatMap((event) => event.ids);
      for (const parts of [atOnce, behind]) {
        const own = parts.flatMap(([index, part]) => (index === choice ? [part] : []));
        expect(own.flatMap((part) => part.ids)).toEqual(ids);
        expect(own.flatMap((part) => part.logprobs.map(({ id }) => id))).toEqual(ids);
      }
    }
  }
});

it('pending parts do not change the arrays of an event', () => {
  const held = createPendingParts();
  const ids = [1];
  held.add({ type: 'delta', choice: 0, text: 'a', ids });
  held.add({ type: 'delta', choice: 0, text: 'b', ids: [2] });
  expect(held.take()).toEqual([[0, { kind: 'content', text: 'ab', ids: [1, 2], logprobs: [] }]]);
  expect(ids).toEqual([1]);
});
