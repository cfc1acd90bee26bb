import { NAME } from '../../../shared/name.ts';

/** The command that makes this machine trust a root, on macOS and Debian-like systems. */
export function trustCommand(path: string, platform: NodeJS.Platform = process.platform): string {
  if (platform === 'darwin') return `sudo security add-trusted-cert -d -r trustRoot -k /Library/Keychains/System.keychain ${path}`;
  return `sudo cp ${path} /usr/local/share/ca-certificates/${NAME}-internal-root.crt && sudo update-ca-certificates`;
}
