// Command lines: exit codes, what goes to which stream, signals. The engine is the fake model's. Most of those that end by themselves and read
// no standard input run in this process.

import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { bundledArgs, nodeArgs } from '../started.ts';
import { type Ended, runHere } from './command-line.ts';
import { FAKE_COMMANDS } from './fake-commands.ts';

const MAIN = new URL('../../src/cli/main.ts', import.meta.url);
const FAKE = new URL('fake-svc.ts', import.meta.url);

/** Each process loads the engine again, which is slow on a busy machine. */
vi.setConfig({ testTimeout: 30_000 });
const PATIENCE = { timeout: 15_000 };

let home: string;
beforeAll(() => {
  home = mkdtempSync(join(tmpdir(), 'svc-cli-'));
});
/** Processes to end after a test that failed halfway. */
const children: ChildProcessWithoutNullStreams[] = [];
afterAll(() => {
  for (const child of children) child.kill('SIGKILL');
  rmSync(home, { recursive: true, force: true });
});

function launch(script: URL, args: string[], env: Record<string, string> = {}) {
  const started = script === FAKE ? bundledArgs(script, ...args) : nodeArgs(script, ...args);
  const child: ChildProcessWithoutNullStreams = spawn(process.execPath, started, {
    env: { ...process.env, HF_HOME: home, HF_HUB_OFFLINE: '1', ...env },
  });
  children.push(child);
  const seen = { out: '', err: '' };
  child.stdout.on('data', (bytes) => (seen.out += String(bytes)));
  child.stderr.on('data', (bytes) => (seen.err += String(bytes)));
  const ended = new Promise<Ended>((resolve) => child.once('close', (code) => resolve({ code, ...seen })));
  return { child, seen, ended };
}

function run(script: URL, args: string[], input = '', env: Record<string, string> = {}): Promise<Ended> {
  const { child, ended } = launch(script, args, env);
  child.stdin.end(input);
  return ended;
}

const here = (args: string[]): Promise<Ended> =>
  runHere(FAKE_COMMANDS, args, { HF_HOME: home, HF_HUB_OFFLINE: '1' });

describe('svc', () => {
  it('prints its version on standard output', async () => {
    const { code, out, err } = await run(MAIN, ['version']);
    expect({ code, err }).toEqual({ code: 0, err: '' });
    expect(out).toMatch(/^\d+\.\d+\.\d+\n$/);
  });

  it('ends with the code of what failed, which it names on standard error', async () => {
    const { code, out, err } = await run(MAIN, ['serve', '--model-path', 'none']);
    expect({ code, out }).toEqual({ code: 3, out: '' });
    expect(err).toContain("'none' is neither an existing folder nor a model id");
  });
});

describe('svc chat', () => {
  it('says that no question came where standard input is empty', async () => {
    const { code, out, err } = await run(FAKE, ['chat', '/m'], '');
    expect([code, out]).toEqual([1, '']);
    expect(err).toContain('no question came on standard input: pipe one in, or start svc chat in a terminal');
  });

  it('takes the whole of standard input as one question', async () => {
    const { code, out, err } = await run(FAKE, ['chat', '/m', '--seed', '1'], 'hello\n\n/exit there\n');
    expect({ code, out }).toEqual({ code: 0, out: 'hello\n\n/exit there\n' });
    expect(err).toContain('Preparing kernels: 20 of 20');
  });

  it('answers line by line where asked to, and obeys commands', async () => {
    const input =
      'hello there\n\n/what\n/reset\n/system be brief\nwell now\n//etc\n/no/picture.png here\n/exit\nnever said\n';
    const { code, out, err } = await run(FAKE, ['chat', '/m', '--linewise'], input);
    expect({ code, out }).toEqual({ code: 0, out: 'hello there\nwell now\n/etc\n/no/picture.png here\n' });
    expect(err).toContain('There is no command /what. /reset forgets');
    expect(err).toContain('A new conversation begins.\n');
    expect(err).toContain('System message: be brief');
  });

  it.each([
    [['what is this?'], "'what is this?' is not a folder of a model that is there: pipe a question into"],
    [['--prompt', 'hi'], 'there is no option --prompt here: pipe a question into svc chat, or type it'],
  ])('says how to ask questions to %j', async (args, message) => {
    const { code, err } = await here(['chat', ...args]);
    expect(code).not.toBe(0);
    expect(err).toContain(message);
  });

  it('goes on after a question that failed', async () => {
    const refused = 'refuse context_length_exceeded\n';
    const input = `${refused}hello\n${refused}hello\n`;
    const { code, out, err } = await run(FAKE, ['chat', '/m', '--linewise'], input);
    expect({ code, out }).toEqual({ code: 0, out: 'hello\nhello\n' });
    // A conversation of no answers is not too long: /reset would change nothing.
    expect(err.split('/reset starts a new conversation')).toHaveLength(2);
  });

  it('ends with 1 where the question got no answer', async () => {
    const { code, out } = await run(FAKE, ['chat', '/m'], 'refuse context_length_exceeded');
    expect({ code, out }).toEqual({ code: 1, out: '' });
  });

  it('shows files to the model, says what it read, and drops what the model refuses', async () => {
    const image = join(home, 'a b.png');
    writeFileSync(image, Buffer.from('\x89PNG\r\n\x1a\n', 'latin1'));
    const args = ['chat', '/m', '--linewise', '--image', image];
    const sees = { SVC_FAKE_MEDIA: 'image' };
    const input = `refuse overloaded\nhello\nmedia bad_request '${image}'\nso\n`;
    const { code, out, err } = await run(FAKE, args, input, sees);
    expect({ code, out }).toEqual({ code: 0, out: 'hello\nso\n' });
    // With the question that failed, with the next one, and in the line.
    expect(err.match(/Read a b\.png \(PNG image, 8 B\)\./g)).toHaveLength(3);
    expect(err).toContain('a b.png is no picture');
    const refused = await run(FAKE, args, 'media bad_request\nhello\n', sees);
    expect(refused).toMatchObject({ code: 0, out: 'hello\n' });
    expect(refused.err.match(/Read a b\.png/g)).toHaveLength(1);
    const blind = await run(FAKE, args, 'hello\n');
    expect(blind.code).toBe(3);
    expect(blind.err).toContain('--image is for models that take it, and fake-chat reads text only');
  });

  it('stops an answer at the first interrupt and leaves at the second', async () => {
    const { child, seen, ended } = launch(FAKE, ['chat', '/m', '--linewise']);
    child.stdin.write('hang here\n');
    await expect.poll(() => seen.out, PATIENCE).toContain('hang');
    child.kill('SIGINT');
    await expect.poll(() => seen.out, PATIENCE).toContain('hang\n');
    child.kill('SIGINT');
    expect((await ended).code).toBe(130);
  });
});

describe('svc transcribe', () => {
  it('writes the text of a sound to standard output, or a file in the format of its name', async () => {
    const sound = join(home, 'a.wav');
    writeFileSync(sound, 'RIFF\0\0\0\0WAVE');
    const args = ['transcribe', sound, '--model-path', '/m'];
    const { code, out } = await run(FAKE, args, '');
    expect([code, out]).toEqual([0, 'one two\n']);
    const file = join(home, 'a.srt');
    await here([...args, '--output', file, '--prompt', 'word', '--word-timestamps']);
    expect(readFileSync(file, 'utf8')).toBe('1\n00:00:00,100 --> 00:00:00,500\nword\n');
    const wrong = await here([...args, '--output', join(home, 'a.doc')]);
    expect([wrong.code, wrong.err]).toEqual([2, expect.stringContaining('names no format')]);
  });

  it('looks whether the file is a sound before it opens the model', async () => {
    const text = join(home, 'a.txt');
    writeFileSync(text, 'no sound');
    const { code, out, err } = await here(['transcribe', text, '--model-path', 'nobody/nothing']);
    expect([code, out]).toEqual([2, '']);
    expect(err).toMatch(/a\.txt cannot be read as a sound .*give WAV, MP3/);
  });
});

describe('svc serve with several models', () => {
  it('serves a chat model and a pipeline side by side, and closes both', { timeout: 120_000 }, async () => {
    const pipeline = join(home, 'scenes');
    mkdirSync(pipeline);
    writeFileSync(join(pipeline, 'model_index.json'), '{}');
    const models = ['org/fake', '--model-path', pipeline];
    const { child, seen, ended } = launch(FAKE, [
      'serve',
      ...models,
      '--served-model-name',
      'talk,draw',
      '--port',
      '0',
    ]);
    await expect
      .poll(() => seen.err, PATIENCE)
      .toMatch(/serves talk[^]*StableDiffusionPipeline[^]*serves draw/);
    const base = /http:\/\/[\d.:]+/.exec(seen.err)?.[0] ?? '';
    const response = await fetch(`${base}/v1/images/generations`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'draw', prompt: 'a house' }),
    });
    expect(response.status).toBe(200);
    expect(await (await fetch(`${base}/health`)).json()).toEqual({
      status: 'ready',
      models: ['talk', 'draw'],
    });
    child.kill('SIGTERM');
    expect((await ended).code).toBe(0);

    const idle = await here(['serve', '--model-path', pipeline, '--context-length', '99']);
    expect(idle.code).toBe(2);
    expect(idle.err).toContain('--context-length is for language models');
    const revision = await here(['serve', ...models, '--revision', 'main']);
    expect(revision.code).toBe(2);
    expect(revision.err).toContain('--revision is for one model');
    const origin = await here(['serve', ...models, '--cors-origins', 'https://a.example,b.example']);
    expect(origin.code).toBe(2);
    expect(origin.err).toContain('--cors-origins b.example is not an origin');
    const format = await here(['serve', ...models, '--tool-call-parser', 'nope']);
    expect(format.code).toBe(2);
    expect(format.err).toMatch(/--tool-call-parser is one of .*hermes.*, none, got "nope"/);
    expect(format.err).not.toContain('Listening');
  });
});

describe('svc serve', () => {
  const serve = (env: Record<string, string> = {}, more: string[] = []) => {
    const args = ['serve', '--model-path', 'org/fake', '--port', '0', '--strict', ...more];
    const { child, seen, ended } = launch(FAKE, args, env);
    const url = async () => {
      await expect.poll(() => seen.err, PATIENCE).toContain('Listening on');
      return /http:\/\/[\d.:]+/.exec(seen.err)?.[0] ?? '';
    };
    return { child, seen, ended, url };
  };

  it('tells what is in force, serves, and ends with 0 on SIGTERM', async () => {
    const { child, seen, ended, url } = serve({}, ['--drain-delay', '1', '--drain-timeout', '20']);
    const base = await url();
    await expect.poll(() => seen.err, PATIENCE).toContain('Ready:');
    expect(await (await fetch(`${base}/server_info`)).json()).toMatchObject({
      settings: { drainDelay: 1000, drainTime: 20_000 },
    });
    expect(seen.err).toContain('Preparing kernels: 20 of 20');
    expect(seen.err).not.toContain('10 of 20');
    expect(seen.err).toContain('temperature 0.4 (generation_config.json)');
    expect(seen.err).toContain("context 4096 (the model's own is 8192)");
    const models = (await (await fetch(`${base}/v1/models`)).json()) as { data: { id: string }[] };
    expect(models.data.map(({ id }) => id)).toEqual(['org/fake']);
    const refused = await fetch(`${base}/v1/chat/completions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'fake', messages: [{ role: 'user', content: 'x' }], wibble: 1 }),
    });
    expect(refused.status).toBe(400);
    child.kill('SIGTERM');
    await expect.poll(() => seen.err, PATIENCE).toContain('SIGTERM: ');
    expect((await fetch(`${base}/health`)).status).toBe(503);
    expect(await ended).toMatchObject({ code: 0, out: '' });
    expect(seen.err).toContain('taking requests for 1 s more, then waiting up to 20 s for what runs');
  });

  it('answers 503 while the model opens, and can be interrupted then', async () => {
    const { child, seen, ended, url } = serve({ SVC_FAKE_OPEN: 'slow' });
    const base = await url();
    await expect.poll(() => seen.err, PATIENCE).toContain('Preparing kernels: 20 of 20');
    const response = await fetch(`${base}/v1/models`);
    expect(response.status).toBe(503);
    expect(response.headers.get('retry-after')).toBe('1');
    expect(await response.text()).toContain('20 of 20');
    expect((await fetch(`${base}/livez`)).status).toBe(200);
    child.kill('SIGINT');
    expect((await ended).code).toBe(130);
  });

  it('opens the model again where its thread ends', async () => {
    const { child, seen, ended, url } = serve({ SVC_FAKE_OPEN: 'mortal' });
    const base = await url();
    await expect
      .poll(() => seen.err, PATIENCE)
      .toMatch(/Ready:[^]*the thread ended\. Opening org\/fake again[^]*Ready:/);
    expect((await fetch(`${base}/readyz`)).status).toBe(200);
    child.kill('SIGTERM');
    expect((await ended).code).toBe(0);
  });

  it('leaves with the code of an opening that failed', async () => {
    const { ended } = serve({ SVC_FAKE_OPEN: 'bad_checkpoint' });
    const { code, err } = await ended;
    expect(code).toBe(3);
    expect(err).toContain('opening failed with bad_checkpoint.');
  });
});
