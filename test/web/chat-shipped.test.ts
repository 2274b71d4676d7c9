// The view of chat with the shipped model, in a thread of its own.

import { expect } from 'vitest';
import { serveShipped, url } from '../server/shipped.ts';
import { useWebPage } from './web-page.ts';

serveShipped();
const web = useWebPage();

web.test('the shipped model answers and keeps to a JSON Schema', async () => {
  const page = await web.open(url);
  await page.getByRole('button', { name: 'Settings' }).click();
  const field = (name: string) => page.getByLabel(name, { exact: true });
  await field('temperature').fill('0');
  await field('max_completion_tokens').fill('60');
  const schema = { type: 'object', properties: { city: { enum: ['Paris', 'Rome'] } }, required: ['city'] };
  await field('JSON Schema').fill(JSON.stringify({ ...schema, additionalProperties: false }));
  await field('Message').fill('What is the capital of France?');
  await page.keyboard.press('Enter');
  const reply = page.getByRole('article', { name: /^Reply/ });
  await reply.getByText(/tokens read .* written/).waitFor();
  const said = await reply.locator('.markdown').last().textContent();
  expect(['Paris', 'Rome']).toContain((JSON.parse(said!) as { city: string }).city);
});
