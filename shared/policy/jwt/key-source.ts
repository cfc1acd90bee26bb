import { isIP } from 'node:net';
import { isPrivateAddress } from '../../private-ranges.ts';

/** Where the keys of an issuer are fetched. `private`: HTTP is allowed too, but only from loopback and private addresses. */
export type KeySource = { url: string; private: boolean };

export const LONGEST_URL = 2_048;

/** What is wrong with the URL of keys; undefined if nothing is. */
export function faultOfSource({ url, private: isPrivate }: KeySource): string | undefined {
  if (!/^https?:\/\/[\x21-\x7e]+$/i.test(url) || !URL.canParse(url)) return 'a URL begins with https://, then the host and the path';
  const { protocol, username, password, hostname, hash } = new URL(url);
  if (username !== '' || password !== '') return 'a URL of public keys needs no user name and password';
  if (hash !== '') return 'a URL of keys has no fragment';
  if (protocol === 'https:') return undefined;
  if (!isPrivate)
    return 'over HTTP, anyone on the way could replace the keys: write https://, or private after the URL if it is in your own network';
  const host = hostname.replace(/^\[|\]$/g, '');
  return isIP(host) === 0 || isPrivateAddress(host) ? undefined : 'private is for loopback and private addresses: write https://';
}

/** The name of a source between the threads. */
export const sourceName = ({ url, private: isPrivate }: KeySource): string => (isPrivate ? `${url} private` : url);
