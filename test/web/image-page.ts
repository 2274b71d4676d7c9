// What tests of the view of images do in its page.

import type { Page } from 'playwright-core';
import sharp from 'sharp';

/** The entries of the gallery. */
export const gallery = (page: Page) => page.locator('.gallery button');

/** A PNG of one colour. */
export const png = (width: number, height: number, background: string): Promise<Buffer> =>
  sharp({ create: { width, height, channels: 3, background } })
    .png()
    .toBuffer();

/** Fills the form, with fields by their labels, and sends it. */
export async function ask(page: Page, prompt: string, fields: Record<string, string> = {}): Promise<void> {
  await page.getByLabel('Prompt', { exact: true }).fill(prompt);
  for (const [label, value] of Object.entries(fields))
    await page.getByLabel(label, { exact: true }).fill(value);
  await page.getByRole('button', { name: 'Draw', exact: true }).click();
}
