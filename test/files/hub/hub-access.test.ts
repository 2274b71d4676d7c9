import { expect, test } from 'vitest';
import { resolveModel } from '../../../src/files/hub/hub.ts';
import { hubFixture, IMPATIENT } from './mock-hub-fixture.ts';

test('the token is sent to the hub and to no other origin', async () => {
  const { resolve, env, hub } = await hubFixture();
  hub.token = 'hf_secret';
  await resolve({ env: { ...env, HF_TOKEN: 'hf_secret' } });
  const front = hub.seen.filter(({ origin }) => origin === 'hub');
  const store = hub.seen.filter(({ origin }) => origin === 'store');
  expect(front.every(({ authorization }) => authorization === 'Bearer hf_secret')).toBe(true);
  expect(store.length).toBeGreaterThan(0);
  expect(store.every(({ authorization }) => authorization === undefined)).toBe(true);
});

test('a gated model names HF_TOKEN and the page with the terms', async () => {
  const { resolve, env, hub } = await hubFixture();
  hub.token = 'hf_secret';
  const anonymous = await resolve().catch((e) => e);
  expect(anonymous).toMatchObject({ code: 'model_not_found' });
  expect(anonymous.message).toMatch(/gated; accept its terms at .*acme\/tiny and set HF_TOKEN/);
  const wrong = await resolve({ env: { ...env, HF_TOKEN: 'other' } }).catch((e) => e);
  expect(wrong.message).toContain('the token in HF_TOKEN has no access');
  expect(wrong.message).not.toContain('other');
});

test('files may be refused although their list is not', async () => {
  const { resolve, hub } = await hubFixture();
  hub.fault = (path) =>
    path === 'config.json' ? { status: 403, headers: { 'x-error-code': 'GatedRepo' } } : undefined;
  await expect(resolve()).rejects.toMatchObject({
    code: 'model_not_found',
    message: expect.stringContaining('HF_TOKEN'),
  });
});

test('an unknown id is named, with the closest cached one', async () => {
  const { resolve, env } = await hubFixture();
  const options = { env, limits: IMPATIENT };
  await expect(resolveModel('acme/tinny', options)).rejects.toMatchObject({
    code: 'model_not_found',
    message: expect.stringMatching(/no model acme\/tinny.*HF_TOKEN(?!.*did you mean)/),
  });
  await resolve();
  await expect(resolveModel('acme/tinny', options)).rejects.toMatchObject({
    message: expect.stringContaining('did you mean acme/tiny'),
  });
  await expect(resolveModel('Tiny', options)).rejects.toMatchObject({
    message: expect.stringContaining('did you mean acme/tiny'),
  });
  await expect(resolveModel('zzz/quite-else', options)).rejects.toMatchObject({
    message: expect.not.stringContaining('did you mean'),
  });
});

test('an endpoint that is not a hub is named', async () => {
  const { resolve, hub } = await hubFixture();
  hub.editListing = (listing) => delete listing.siblings;
  await expect(resolve()).rejects.toMatchObject({
    code: 'network',
    message: expect.stringContaining('HF_ENDPOINT'),
  });
});
