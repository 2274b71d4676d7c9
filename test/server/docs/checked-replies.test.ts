// The check of all replies against their schemas detects errors in a reply.

import { describe, expect, it } from 'vitest';
import { problemsOf, type Received } from './checked-replies.ts';
import { ask, start } from '../harness.ts';

const CHAT = { method: 'POST', pathname: '/v1/chat/completions', status: 200, isWhole: true };

async function received(more: object = {}): Promise<Received> {
  const { post } = await start();
  const response = await post(ask('one two', more));
  const [type = ''] = response.headers.get('content-type')!.split(';');
  return { ...CHAT, type, text: await response.text() };
}

const error = { message: 'no', type: 'server_error', param: null, code: 'internal' };

describe('a checked reply is as its route declares', () => {
  it('to the last member', async () => {
    const reply = await received();
    const wrong = (from: string, to: string): string =>
      problemsOf({ ...reply, text: reply.text.replace(from, to) }).join();
    expect(wrong('', '')).toBe('');
    expect(wrong('"reasoning_content":null', '"reasoning_content":null,"mood":"good"')).toContain('mood');
    expect(wrong(',"matched_stop":2', '')).toContain('matched_stop');
    expect(wrong('"system_fingerprint"', '"fingerprint"')).toContain('system_fingerprint');
    expect(wrong('"finish_reason":"stop"', '"finish_reason":"tired"')).toContain('finish_reason');
  });

  it('event by event, to the end marker', async () => {
    const stream = await received({ stream: true });
    const wrong = (more: Partial<Received>): string => problemsOf({ ...stream, ...more }).join();
    expect(wrong({})).toBe('');
    expect(wrong({ text: stream.text.replace('"delta":{', '"delta":{"mood":"good",') })).toContain('mood');
    const cut = stream.text.slice(0, stream.text.indexOf('data: [DONE]'));
    expect(wrong({ text: cut })).toContain('ended with');
    expect(wrong({ text: cut, isWhole: false })).toBe('');
  });

  it('where it is an error, in the envelope of its interface', () => {
    const refusal = { ...CHAT, type: 'application/json', status: 500 };
    const wrong = (body: object, more: Partial<Received> = {}): string =>
      problemsOf({ ...refusal, text: JSON.stringify(body), ...more }).join();
    expect(wrong({ error })).toBe('');
    expect(wrong({ error: 'no' })).toContain('expected object');
    expect(wrong({ error }, { pathname: '/api/chat' })).toContain('expected string');
    expect(wrong({ error }, { pathname: '/v1/messages' })).toContain('"param"');
    expect(wrong({ error, choices: [] })).toContain('usage');
    expect(wrong({ status: 'starting' }, { status: 503 })).toContain('no schema');
  });

  it('in its media type', () => {
    const page = { ...CHAT, method: 'GET', text: '' };
    expect(problemsOf({ ...page, pathname: '/docs', type: 'text/html' })).toEqual([]);
    expect(problemsOf({ ...page, pathname: '/v1/images/img-1/content', type: 'image/png' })).toEqual([]);
    expect(problemsOf({ ...page, pathname: '/docs', type: 'text/plain' })).toEqual(['came as text/plain']);
    expect(problemsOf({ ...page, pathname: '/v1/models', type: 'text/plain' })).toEqual([
      'came as text/plain',
    ]);
  });
});
