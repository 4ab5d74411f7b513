package command

import (
	"context"
	"slices"

	"example.com/gatehouse/render"
	"example.com/gatehouse/render/manifest"
)

// warnOfLineEnds adds warnings of generators' files whose line ends git has converted: the generated objects, and the
// hashes in their names, are others in CI.
func warnOfLineEnds(ctx context.Context, repository *render.Repository, update *render.Update) {
	var files []string
	for _, e := range update.Environments {
		files = append(files, e.CRLF...)
	}
	if len(files) == 0 {
		return
	}
	in, err := openGit(ctx, repository.Dir())
	if err != nil {
		return // nothing converts them
	}
	converted, _ := in.Converted(ctx, files)
	for i, e := range update.Environments {
		for _, file := range e.CRLF {
			if slices.Contains(converted, file) {
				e.Problems = append(e.Problems, manifest.Problem{Code: manifest.CRLF,
					File: file, Line: 1, Warning: true,
					Message: "has CRLF line ends here and LF in git, so the generated object differs from that of " +
						"CI: write environments/** text=auto eol=lf into .gitattributes, remove the file, and run " +
						"git checkout -- " + file})
			}
		}
		update.Environments[i].Problems = manifest.SortProblems(e.Problems)
	}
}
