// Packs each file that is named, by Brotli, into a file beside it that ends in .br.

import { readFileSync, writeFileSync } from 'node:fs';
import { brotliCompressSync } from 'node:zlib';

for (const file of process.argv.slice(2)) writeFileSync(`${file}.br`, brotliCompressSync(readFileSync(file)));
