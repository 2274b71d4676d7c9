// Whole numbers as English words, in the spelling of the Python package num2words, which SmolVLM's processor writes into prompts.

const SMALL = [
  ...['zero', 'one', 'two', 'three', 'four', 'five', 'six', 'seven', 'eight', 'nine', 'ten', 'eleven'],
  ...['twelve', 'thirteen', 'fourteen', 'fifteen', 'sixteen', 'seventeen', 'eighteen', 'nineteen'],
];
const TENS = ['twenty', 'thirty', 'forty', 'fifty', 'sixty', 'seventy', 'eighty', 'ninety'];

/** `value`: a whole number from 0 to 999999. */
export function numberWords(value: number): string {
  if (value < 20) return SMALL[value]!;
  if (value < 100) {
    const tens = TENS[Math.floor(value / 10) - 2]!;
    return value % 10 === 0 ? tens : `${tens}-${SMALL[value % 10]!}`;
  }
  const [unit, name] = value < 1000 ? [100, 'hundred'] : [1000, 'thousand'];
  const rest = value % unit;
  const first = `${numberWords(Math.floor(value / unit))} ${name}`;
  if (rest === 0) return first;
  return `${first}${rest < 100 ? ' and' : ','} ${numberWords(rest)}`;
}
