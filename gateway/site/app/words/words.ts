/**
 * The site's texts in the user's language. The English texts are the keys of each language's file,
 * which is loaded alone, before the first view. Messages of the API stay English.
 *
 * Another language is a file with the keys of es.json, and a line in LANGUAGES.
 */
import type { ComponentChildren } from 'preact';
import { kept } from '../model/settings.js';
import type es from './es.json';

export type Text = keyof typeof es;
type Words = Readonly<Record<Text, string>>;
type Load = () => Promise<{ default: Words }>;

export const LANGUAGES: Readonly<Record<string, { name: string; load?: Load }>> = {
  en: { name: 'English' },
  es: { name: 'Español', load: () => import('./es.json', { with: { type: 'json' } }) },
};

/** Empty to follow the browser. */
const chosen = kept<string>('language', '');
const wanted = [chosen.peek(), ...navigator.languages].map((tag) => tag.slice(0, 2));
export const language = wanted.find((tag) => Object.hasOwn(LANGUAGES, tag)) ?? 'en';
const ofLanguage = new RegExp(`^${language}(-\\w+)*$`);
/** The browser's tag of that language, such as es-MX, as numbers differ between countries. */
export const locale = navigator.languages.find((tag) => ofLanguage.test(tag)) ?? language;

/** Reloads the page, because many texts are created once. */
export function speak(other: string): void {
  chosen.value = other;
  location.reload();
}

const words = await LANGUAGES[language]!.load?.().then(
  ({ default: found }) => found,
  () => undefined,
);

const numbers = new Intl.NumberFormat(locale);
const said = (text: Text): string => words?.[text] ?? text;

/** The text with values in place of {0}, {1} and so on. */
export function t(text: Text, ...values: readonly (string | number)[]): string {
  return said(text).replace(/\{(\d)\}/g, (_, place) => {
    const value = values[place]!;
    return typeof value === 'number' ? numbers.format(value) : value;
  });
}

/** Like {@link t}, with elements as values. */
export function mixed(text: Text, ...parts: readonly ComponentChildren[]): ComponentChildren {
  return said(text)
    .split(/\{(\d)\}/)
    .map((part, at) => (at % 2 === 0 ? part : parts[Number(part)]));
}
