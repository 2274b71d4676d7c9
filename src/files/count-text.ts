// A number of things as messages show it: 1 request, 2 requests.

export function countText(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`;
}
