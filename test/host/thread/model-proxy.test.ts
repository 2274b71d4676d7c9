// Proxy and host of a model in another thread, on a fake port, with a model that the test controls.

import { describe, expect, it, vi } from 'vitest';
import type { Port } from '../../../src/engine/platform/port.ts';
import { ModelHost } from '../../../src/host/thread/model-host.ts';
import { openProxy, type ProxyOptions } from '../../../src/host/thread/model-proxy.ts';
import { mergeEvents } from '../../../src/engine/text/run/merge-events.ts';
import { TEXT } from '../../../src/host/kinds/text.ts';
import type { TextModel, TextModelOptions } from '../../../src/engine/text/calls/text-model.ts';
import { EngineError } from '../../../src/files/error.ts';
import { createFakeModel, fakeInfo } from '../../server/fake-model.ts';
import { collect } from '../../engine/fixture.ts';
import { portPair } from '../port-pair.ts';

const OPTIONS: TextModelOptions = { model: 'any' };
const ask = (content: string) => ({ prompt: { messages: [{ role: 'user' as const, content }] } });

type Open = (options: unknown, onEvent: unknown, signal: AbortSignal) => Promise<TextModel>;

const serve = (port: Port, open: Open, release = (): void => {}): ModelHost<unknown, TextModel> =>
  new ModelHost(port, { calls: TEXT.calls, open, release });

const connectTo = (port: Port, given: Partial<ProxyOptions> = {}): Promise<TextModel> =>
  openProxy<TextModel>(port, TEXT.calls, {
    options: OPTIONS,
    onEvent: () => {},
    onClosed: async () => {},
    merge: mergeEvents,
    ...given,
  });

async function connect() {
  const ports = portPair();
  const fake = createFakeModel();
  let closed = 0;
  const host = serve(ports.far, async () => fake);
  const model = await connectTo(ports.near, { onClosed: async () => void closed++ });
  return { model, fake, ports, host, closed: () => closed };
}

describe('a model proxy over a port', () => {
  it('has the members of its model', async () => {
    const { model } = await connect();
    expect(model.info).toEqual(fakeInfo);
    expect(await model.tokenize('ab')).toEqual([1, 97, 98]);
    expect(await model.tokenize('ab', { addSpecialTokens: false })).toEqual([97, 98]);
    expect(await model.detokenize([1, 97], { skipSpecialTokens: true })).toBe('a');
    expect(await model.detokenize([97, 98])).toBe('ab');
    const { text, ends } = await collect(model.generate({ ...ask('one two three'), n: 2 }));
    expect(text).toEqual(['one two three', 'one two three']);
    expect(ends).toHaveLength(2);
  });

  it('passes events of many requests to their own readers', async () => {
    const { model } = await connect();
    const texts = Array.from({ length: 20 }, (_, i) => `request number ${i} of many`);
    const results = await Promise.all(texts.map((text) => collect(model.generate(ask(text)))));
    expect(results.map(({ text }) => text[0])).toEqual(texts);
  });

  it.each([
    ['refuse overloaded', 'overloaded', 0],
    ['fail out_of_memory', 'out_of_memory', 1],
  ])('passes %s as an EngineError, after the events before it', async (content, code, deltas) => {
    const { model } = await connect();
    const seen: string[] = [];
    const reading = (async () => {
      for await (const event of model.generate(ask(content))) seen.push(event.type);
    })();
    await expect(reading).rejects.toBeInstanceOf(EngineError);
    await expect(reading).rejects.toMatchObject({ code });
    expect(seen.filter((type) => type === 'delta')).toHaveLength(deltas);
  });

  it('passes an unforeseen error as another error, with its origin', async () => {
    const { model } = await connect();
    const error: unknown = await collect(model.generate(ask('crash now'))).catch((cause: unknown) => cause);
    expect(error).not.toBeInstanceOf(EngineError);
    expect((error as Error).message).toMatch(/secret detail[^]*fake-model/);
  });

  it('aborts the request on the far side if its reader leaves', async () => {
    const { model, fake } = await connect();
    for await (const event of model.generate(ask('hang here'))) if (event.type === 'delta') break;
    while (fake.running > 0) await new Promise((resolve) => setImmediate(resolve));
  });
});

describe('the signal of a call', () => {
  it('aborts the call on the far side', async () => {
    const { model, fake } = await connect();
    const leaving = new AbortController();
    const { prompt } = ask('hang here');
    const rendering = model.renderPrompt(prompt, {}, { signal: leaving.signal });
    while (fake.rendered.length === 0) await new Promise((resolve) => setImmediate(resolve));
    leaving.abort();
    await expect(rendering).rejects.toMatchObject({ code: 'cancelled' });
  });

  it('refuses a call where it has aborted before, and lets others pass', async () => {
    const { model, fake } = await connect();
    const { prompt } = ask('a');
    const given = [prompt, {}, { signal: AbortSignal.abort() }] as const;
    await expect(model.renderPrompt(...given)).rejects.toMatchObject({ code: 'cancelled' });
    expect(fake.rendered).toEqual([]);
    const { text } = await model.renderPrompt(prompt, {}, { signal: new AbortController().signal });
    expect(text).toContain('"a"');
  });
});

describe('the process of a model proxy', () => {
  it('is kept alive only while something waits on the far side', async () => {
    const ports = portPair();
    const held: boolean[] = [];
    serve(ports.far, async () => createFakeModel());
    const near = {
      ...ports.near,
      hold: (waits: boolean) => void (held.at(-1) !== waits && held.push(waits)),
    };
    const model = await connectTo(near);
    expect(held).toEqual([true, false]);
    for await (const event of model.generate(ask('hang here'))) {
      expect(held.at(-1)).toBe(true);
      if (event.type === 'delta') break;
    }
    expect(held.at(-1)).toBe(false);
    const metrics = model.metrics();
    expect(held.at(-1)).toBe(true);
    await metrics;
    expect(held.at(-1)).toBe(false);
    await model.close();
    expect(held.at(-1)).toBe(false);
  });
});

describe('a signal for opening a model proxy', () => {
  it('ends the opening: the far side frees its model before its thread ends', async () => {
    const ports = portPair();
    const log: string[] = [];
    const open = (_: unknown, _onEvent: unknown, signal: AbortSignal): Promise<TextModel> =>
      new Promise((_resolve, reject) =>
        signal.addEventListener('abort', () => {
          log.push('far side aborts');
          reject(new EngineError('cancelled', 'late'));
        }),
      );
    serve(ports.far, open, () => void log.push('released'));
    const controller = new AbortController();
    const onClosed = async () => void log.push('closed');
    const model = connectTo(ports.near, { onClosed, signal: controller.signal });
    setTimeout(() => controller.abort(), 5);
    await expect(model).rejects.toMatchObject({
      code: 'cancelled',
      message: 'opening the model was cancelled',
    });
    await expect.poll(() => log).toEqual(['far side aborts', 'released', 'closed']);
  });

  it('ends a thread that does not answer in its time to leave', async () => {
    const ports = portPair();
    let closed = 0;
    const signal = AbortSignal.abort();
    const onClosed = async () => void closed++;
    const model = connectTo(ports.near, { onClosed, signal, leaveTime: 20 });
    await expect(model).rejects.toMatchObject({ code: 'cancelled' });
    expect(closed).toBe(0);
    await expect.poll(() => closed).toBe(1);
  });

  it('that aborts once the model is open changes nothing', async () => {
    const ports = portPair();
    const controller = new AbortController();
    const open = () => Promise.resolve(createFakeModel());
    serve(ports.far, open);
    const model = await connectTo(ports.near, { signal: controller.signal });
    controller.abort();
    expect(await model.tokenize('a')).toEqual([1, 97]);
  });
});

it('a model proxy closes at the end of its block', async () => {
  const { model, fake } = await connect();
  {
    await using used = model;
    expect(used.info.name).toBe(fake.info.name);
  }
  expect(fake.closed).toBe(true);
});

describe('an opening of a model proxy that fails', () => {
  it('rejects with the far side’s error and lets the thread go', async () => {
    const ports = portPair();
    let closed = 0;
    const open = (): Promise<TextModel> =>
      Promise.reject(new EngineError('bad_checkpoint', 'tensor x is missing', { param: 'x' }));
    serve(ports.far, open);
    const model = connectTo(ports.near, { onClosed: async () => void closed++ });
    await expect(model).rejects.toMatchObject({ code: 'bad_checkpoint', param: 'x' });
    expect(closed).toBe(1);
  });

  it('rejects where the far side is lost', async () => {
    const ports = portPair();
    const model = connectTo(ports.near);
    ports.break(new EngineError('internal', 'the thread ended'));
    await expect(model).rejects.toThrow('the thread ended');
  });
});

describe('a lost far side of a model proxy', () => {
  it('fails all waiting calls, and later ones', async () => {
    const { model, ports, closed } = await connect();
    const stream = model.generate(ask('hang here'));
    const seen = [await stream.next(), await stream.next(), await stream.next()];
    expect(seen.map(({ value }) => value?.type)).toEqual(['accepted', 'prefill', 'delta']);
    const waiting = [stream.next(), model.metrics(), model.tokenize('a')];
    const error = new EngineError('internal', 'the thread ended');
    ports.break(error);
    for (const promise of waiting) await expect(promise).rejects.toBe(error);
    await expect(model.metrics()).rejects.toBe(error);
    await expect(model.generate(ask('x')).next()).rejects.toBe(error);
    await model.close();
    expect(closed()).toBe(0);
  });

  it('ends by itself, or is ended if it hangs', async () => {
    vi.useFakeTimers();
    for (const endsItself of [true, false]) {
      const { model, fake, ports, closed, host } = await connect();
      fake.close = () => new Promise(() => {});
      void host.fail(new Error('nobody caught this'));
      expect((await model.ended).message).toContain('nobody caught this');
      if (endsItself) ports.break(new EngineError('internal', 'the thread ended'));
      await vi.advanceTimersByTimeAsync(60_000);
      expect(closed()).toBe(endsItself ? 0 : 1);
    }
    vi.useRealTimers();
  });

  it('while it closes is closed', async () => {
    const { model, ports } = await connect();
    const closing = model.close();
    ports.break(new EngineError('internal', 'the thread ended'));
    await closing;
  });
});

it('closing a model proxy that fails ends the thread all the same', async () => {
  const { model, fake, closed } = await connect();
  fake.close = () => Promise.reject(new EngineError('internal', 'the disk is gone'));
  await expect(model.close()).rejects.toThrow('the disk is gone');
  expect(closed()).toBe(1);
  await model.close();
});

it('closing a model proxy twice, at once or later, closes once', async () => {
  const { model, fake, closed } = await connect();
  const stream = model.generate(ask('hang here'));
  await stream.next();
  await Promise.all([model.close(), model.close()]);
  await model.close();
  expect([fake.closed, closed()]).toEqual([true, 1]);
  for (const promise of [model.metrics(), model.generate(ask('x')).next()])
    await expect(promise).rejects.toMatchObject({ code: 'cancelled' });
});
