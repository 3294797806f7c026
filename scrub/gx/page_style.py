# SPDX-License-Identifier: Apache-2.0
"""The head of every page of Data Docs: a style of our own, and a rule that loads nothing else."""

GENERATOR = '<meta name="generator" content="scrub">'
"""By this, a page is known as one that has been rewritten already."""

_STYLE = """\
body { margin: 1rem auto; max-width: 80rem; padding: 0 1rem; color: #1b1f24; background: #fff;
  font: 15px/1.5 system-ui, sans-serif; }
h1, h2, h3, h4, h5, h6 { margin: 1.2rem 0 .4rem; line-height: 1.25; font-size: 1rem; }
h1, h2, h3, h4 { font-size: 1.2rem; }
hr { display: none; }
li:has(> hr) { display: none; } /* Great Expectations puts each line between two items */
a { color: #0b57a4; }
nav ol, nav ul { margin: 0; padding: 0; list-style: none; }
nav li { display: inline-block; margin-right: 1rem; overflow-wrap: anywhere; }
table { margin: .6rem 0; border-collapse: collapse; }
th, td { padding: .3rem .6rem; border: 1px solid #c8ced6; text-align: left; vertical-align: top;
  overflow-wrap: anywhere; }
th { background: #eef1f4; overflow-wrap: normal; }
td th, td td:first-child { white-space: nowrap; } /* a heading or a kind is never cut in two */
.badge { padding: 0 .3rem; background: #eef1f4; font-family: ui-monospace, monospace; }
.succeeded, .failed, .raised { white-space: nowrap; }
.succeeded { color: #12632b; font-weight: 600; }
.failed, .text-danger { color: #a4161a; font-weight: 600; }
.raised { color: #7a4b00; font-weight: 600; }
@media (prefers-color-scheme: dark) {
  body { color: #e6e9ed; background: #15191e; }
  th, .badge { background: #262c34; }
  th, td { border-color: #444c56; }
  a { color: #7db7f0; }
  .succeeded { color: #6fd08c; }
  .failed, .text-danger { color: #ff8a8a; }
  .raised { color: #f0c070; }
}
"""

HEAD = f"""\
<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="UTF-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<meta name="viewport" content="width=device-width, initial-scale=1.0">
{GENERATOR}
<title>Data Docs</title>
<style>
{_STYLE}</style>
</head>
<body>
"""

FOOT = "</body>\n</html>\n"
