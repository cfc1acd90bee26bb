import { accepted, type Parsed, refused } from '../../../../shared/values/parsed.ts';
import { TSIG_ALGORITHMS, type TsigAlgorithm, type TsigKey } from './tsig.ts';

const isAlgorithm = (text: string): text is TsigAlgorithm => Object.hasOwn(TSIG_ALGORITHMS, text);

/** Reads a key as `tsig-keygen` prints it: `key "NAME" { algorithm hmac-sha256; secret "BASE64"; };`. */
export function parseTsigKey(text: string): Parsed<TsigKey> {
  const [, name] = /^\s*key\s+"?([^\s"{;]+)"?\s*\{/.exec(text) ?? [];
  const [, algorithm] = /\balgorithm\s+"?([\w-]+)"?\s*;/.exec(text) ?? [];
  const [, secret] = /\bsecret\s+"?([A-Za-z0-9+/]+={0,2})"?\s*;/.exec(text) ?? [];
  if (name === undefined || algorithm === undefined || secret === undefined)
    return refused('it has no key in the format of tsig-keygen (key "NAME" { algorithm hmac-sha256; secret "…"; };)');
  const known = algorithm.toLowerCase();
  if (!isAlgorithm(known)) return refused(`its algorithm ${algorithm} is not one of ${Object.keys(TSIG_ALGORITHMS).join(', ')}`);
  return accepted({ name: name.toLowerCase().replace(/\.$/, ''), algorithm: known, secret: Buffer.from(secret, 'base64') });
}
